"""The checks of the rules of a table's rows: whether they fit their columns, and do not contradict each other."""

from collections.abc import Iterator

from kafka2hive.config.keys.column_rules import NO_RULES, UNIQUE, whole_match
from kafka2hive.config.rules.table_options import DeclaredColumn, TableCheck, declared_columns
from kafka2hive.config.yaml.problems import Path, closest
from kafka2hive.model.hive_types import has_parts
from kafka2hive.model.literals import Literal, is_ordered, is_text, literal

_ORDERED = "a number, decimal, date or timestamp"


def check_rules(check: TableCheck) -> None:
    """Check the rules of the columns that are decoded from records, and the table's."""
    columns = declared_columns(check.table) if check.table.columns else []
    for column in columns:
        if column.rules != NO_RULES:
            _check_column(check, check.path("columns", column.place), column)
    _check_unique(check, columns)
    has_rules = bool(check.table.unique_within_message) or any(any(c.rules.names()) for c in columns)
    if "on_break" in check.map_keys.given and not has_rules:
        check.add(check.path("on_break"), "no column of the table has a rule")


def check_no_rules(check: TableCheck) -> None:
    """Check that no column that a SELECT fills has rules."""
    for column in declared_columns(check.table):
        if column.rules != NO_RULES:
            check.add(
                check.path("columns", column.place),
                "rules are checked before the SELECT: move them to records, or let the SELECT decide",
            )


def _check_column(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    rules, kind = column.rules, column.type
    if not any(rules.names()):
        check.add((*path, "on_break"), f"{column.name} has no rule")
    if rules.required and column.leeway.default is not None:
        check.add((*path, "required"), "a column with a default always has a value")
    for key, text in (("min", rules.least), ("max", rules.most)):
        if text is not None and not is_ordered(kind):
            check.add((*path, key), f"is used only with {_ORDERED}; {column.name} is {kind}")
    if rules.pattern is not None:
        if not is_text(kind):
            check.add((*path, "pattern"), f"is used only with a string; {column.name} is {kind}")
        elif fault := _fault_of_pattern(rules.pattern):
            check.add((*path, "pattern"), fault)
            return
    if rules.values and (has_parts(kind) or kind.strip().lower() == "binary"):
        message = f"is used only with strings, numbers, booleans and times; {column.name} is {kind}"
        check.add((*path, "values"), message)
    else:
        _check_literals(check, path, column)


def _check_literals(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    """Check that the values in the column's rules are of its type, and that they and its default obey each other."""
    rules = column.rules
    bounds: dict[str, Literal] = {}
    for key, text in (("min", rules.least), ("max", rules.most)):
        if text is not None and is_ordered(column.type):
            value = _value(check, (*path, key), column, text)
            if value is not None:
                bounds[key] = value
    if len(bounds) == 2 and _is_less(bounds["max"], bounds["min"]):
        check.add((*path, "max"), f"is less than min, which is {rules.least}")
    seen: dict[Literal, None] = {}
    for place, text in enumerate(rules.values):
        value = _value(check, (*path, "values", place), column, text)
        if value is None:
            continue
        if value in seen:
            check.add((*path, "values", place), f"{text} is repeated")
        seen[value] = None
        for fault in _faults(column, value, text, bounds):
            check.add((*path, "values", place), fault)
    if column.leeway.default is not None:
        _check_default(check, path, column, bounds=bounds, values=seen)


def _check_default(
    check: TableCheck,
    path: Path,
    column: DeclaredColumn,
    bounds: dict[str, Literal],
    values: dict[Literal, None],
) -> None:
    text = column.leeway.default
    assert text is not None
    try:
        value = literal(column.type, text)
    except ValueError:
        return  # the rules of defaults have reported it
    for fault in _faults(column, value, text, bounds):
        check.add((*path, "default"), fault)
    if values and value not in values:
        check.add((*path, "default"), f"{text} is not one of the column's values")


def _faults(column: DeclaredColumn, value: Literal, text: str, bounds: dict[str, Literal]) -> Iterator[str]:
    """Yield why `value`, whose text in the map is `text`, breaks the column's own bounds or pattern."""
    rules = column.rules
    if "min" in bounds and _is_less(value, bounds["min"]):
        yield f"{text} is less than the column's min, which is {rules.least}"
    if "max" in bounds and _is_less(bounds["max"], value):
        yield f"{text} is more than the column's max, which is {rules.most}"
    if rules.pattern is not None and is_text(column.type) and not _matches(rules.pattern, text):
        yield f"{text!r} does not match the column's pattern"


def _value(check: TableCheck, path: Path, column: DeclaredColumn, text: str) -> Literal | None:
    """Return the value of the column's type; None, with a problem, if the text is not one."""
    try:
        return literal(column.type, text)
    except ValueError as error:
        check.add(path, str(error))
        return None


def _is_less(first: Literal, second: Literal) -> bool:
    """Compare two values of one type."""
    return bool(first < second)  # type: ignore[operator]  # both have the column's type


def _check_unique(check: TableCheck, columns: list[DeclaredColumn]) -> None:
    names, path = check.table.unique_within_message, check.path(UNIQUE)
    if not names:
        return
    if not check.table.may_hold_several:
        check.add(path, "a message of this table has one row: it needs rows: lines or array, or canal")
    by_name = {column.name: column for column in columns}
    for place, name in enumerate(names):
        if name not in by_name:
            check.add((*path, place), f"the table has no column {name}", closest(name, by_name))
        elif has_parts(by_name[name].type):
            kind = by_name[name].type
            check.add((*path, place), f"only single values are compared; {name} is {kind}")
        elif name in names[:place]:
            check.add((*path, place), f"the column {name} is repeated")


def _fault_of_pattern(pattern: str) -> str:
    """Return why RE2 does not know a pattern, or an empty string."""
    import pyarrow as pa  # slow to import, and few maps have patterns
    import pyarrow.compute as pc

    one = pa.array([""])  # an empty array would not compile the pattern
    for text in (pattern, whole_match(pattern)):
        try:
            pc.match_substring_regex(one, text)
        except pa.ArrowInvalid as error:
            return (
                f"not a regular expression of RE2: {str(error).removeprefix('Invalid regular expression: ')}"
            )
    return ""


def _matches(pattern: str, text: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.match_substring_regex(pa.scalar(text), whole_match(pattern)).as_py())

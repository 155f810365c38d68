"""The characters of a table with format csv, and the types that a field can fill."""

from kafka2hive.config.checks.record_parts import has_parts
from kafka2hive.config.checks.table_options import CheckedTable, declared_columns
from kafka2hive.config.values.columns import RecordPart


def check_csv(checked: CheckedTable) -> None:
    table = checked.table
    if table.format != "csv":
        if "csv" in checked.own.given:
            checked.add(checked.path("csv"), f"is used with format csv, the table's is {table.format}")
        return
    _check_characters(checked)
    _check_header(checked)
    for column in declared_columns(table) if table.columns else ():
        if column.part is RecordPart.VALUE and has_parts(column.type):
            path = checked.path("columns", column.place)
            checked.add(path, f"a field of csv is one text, {column.name} is {column.type}")


def _check_header(checked: CheckedTable) -> None:
    table, header = checked.table, checked.table.csv.header
    columns = [c for c in declared_columns(table) if c.part is RecordPart.VALUE] if table.columns else []
    if header and columns and len(header) != len(columns):
        message = f"has {len(header)} fields for {len(columns)} columns: no record could be such a line"
        checked.add(checked.path("csv", "header"), message)
    if header and table.sql is not None:
        message = "is not used with sql: leave header lines out by its WHERE"
        checked.add(checked.path("csv", "header"), message)


def _check_characters(checked: CheckedTable) -> None:
    options = checked.table.csv
    characters = {"delimiter": options.delimiter, "quote": options.quote, "escape": options.escape or ""}
    for name, character in characters.items():
        if not character and name == "quote":
            continue
        if name == "escape" and options.escape is None:
            continue
        if len(character) != 1 or not character.isascii() or character in "\r\n\0":
            checked.add(checked.path("csv", name), "expected one ASCII character, and no line break")
            return
    used = [character for character in characters.values() if character]
    if len(set(used)) < len(used):
        checked.add(checked.path("csv"), "delimiter, quote and escape are characters of their own")
    # the escape may stand there, as in \\N: the text is compared as it is written
    elif any(mark in options.null_text for mark in ("\r", "\n", options.delimiter, options.quote) if mark):
        checked.add(
            checked.path("csv", "null_text"), "a field without quotes has no delimiter, quote or line break"
        )
    elif options.trim and options.null_text != options.null_text.strip(" \t"):
        checked.add(checked.path("csv", "null_text"), "has blanks around it, which trim leaves out")

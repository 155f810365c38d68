"""The rules of a table's source and of CSV."""

from kafka2hive.config.keys.columns import MetadataColumn, RecordPart
from kafka2hive.config.keys.leeway import STRICT
from kafka2hive.config.keys.source import (
    BEFORE,
    ChangeLog,
    ChangeLogKeys,
    Tombstones,
    canal_keys,
    change_log_of,
    decimal_encoding,
    flat_rows,
    keeps_before,
    placeholder_bytes,
    placeholder_of,
)
from kafka2hive.config.rules.table_options import (
    DeclaredColumn,
    TableCheck,
    declared_columns,
    metadata_names,
)
from kafka2hive.config.yaml.problems import closest
from kafka2hive.model.entry_points import PluginKind
from kafka2hive.model.hive_types import has_parts


def check_source(check: TableCheck) -> None:
    """Check that the envelope of a change log fits the format and the columns."""
    table, path = check.table, check.path("source")
    if isinstance(table.source, ChangeLogKeys):
        keys = (table.source.debezium, table.source.maxwell, table.source.canal)
        if sum(key is not None for key in keys) != 1:
            check.add(path, "needs exactly one of debezium, maxwell and canal")
    log = change_log_of(table.source)
    if log is None:
        return
    if table.format in ("raw", "csv"):
        message = (
            f"format {table.format} has no fields to unpack the envelope of {log.value} from:"
            " write source: binlog, or another format"
        )
        check.add(path, message)
    if keeps_before(table.source) and any(
        column.path is not None or column.unit is not None or column.full_leeway != STRICT
        for column in declared_columns(table)
        if column.part is RecordPart.VALUE
    ):
        check.add(
            path,
            f"{BEFORE} is a struct of the columns, which therefore must not have from, unit, fraction, default,"
            " decimals, unknown_enum, json, quoted, empty, whole, booleans, numbers, non_finite or beyond",
        )
    if log is ChangeLog.CANAL:
        _check_canal(check)
    if log is ChangeLog.DEBEZIUM:
        _check_decimals(check, decimal_encoding(table.source))
        _check_placeholder(check, placeholder_of(table.source))
        _check_form(check)


def _check_decimals(check: TableCheck, encoding: str | None) -> None:
    """Check the encoding of Debezium's decimals: base64 requires JSON, and no decimal within an array, a map or a struct."""
    table = check.table
    if table.format in ("avro", "protobuf"):
        if encoding == "base64":
            message = f"decimals: base64 applies only to JSON; the table's format is {table.format}"
            check.add(check.path("source"), message)
        return
    for column in declared_columns(table) if table.columns and encoding != "text" else ():
        of_row = column.part is RecordPart.VALUE and column.name != BEFORE
        if of_row and has_parts(column.type) and "decimal" in column.type.lower():
            if encoding == "base64":
                message = f"with decimals base64, a decimal must be a column; {column.name} is {column.type}"
            else:
                message = (
                    f"{column.name} is {column.type}: set the encoding of its decimals,"
                    " source: {debezium: {decimals: text}}, or declare them as string"
                )
            check.add(check.path("columns", column.place), message)


def _check_form(check: TableCheck) -> None:
    """Check the keys that depend on whether Debezium's rows are flat."""
    table, path = check.table, check.path("source", "debezium")
    flat = flat_rows(table.source)
    if flat is None:
        if (
            isinstance(table.source, ChangeLogKeys)
            and table.source.debezium
            and table.source.debezium.position
        ):
            check.add(
                (*path, "position"), "is used only with form: flat; envelopes always have their position"
            )
        return
    if keeps_before(table.source):
        check.add(
            (*path, "before"), "is not used with form: flat, whose records lack the row before the change"
        )
    if table.schema_evolution != "ignore":
        check.add(
            check.path("schema_evolution"),
            "is not used with form: flat, whose schema has fields of the change among those of the row",
        )
    if table.tombstones is not Tombstones.WRITE:
        return
    if flat.has_position:
        check.add(
            (*path, "position"), "is not used with tombstones: write, because a tombstone has no position"
        )
    key = {name.lower() for name in (table.latest.key if table.latest is not None else ())}
    for column in declared_columns(table) if table.columns else ():
        if column.name.lower() in key and column.part is not RecordPart.KEY:
            check.add(
                check.path("columns", column.place),
                f"a tombstone says only in its key which row is deleted: take {column.name} from there, key: $.{column.name}",
            )


def _check_placeholder(check: TableCheck, placeholder: str | None) -> None:
    """Check that a placeholder in hexadecimal has bytes."""
    try:
        is_empty = placeholder is not None and not placeholder_bytes(placeholder)
    except ValueError:
        is_empty = True
    if is_empty:
        check.add(
            check.path("source", "debezium", "placeholder"),
            "needs two hexadecimal digits for each byte after hex:",
        )


def _check_canal(check: TableCheck) -> None:
    """Check a table of Canal, whose rows are flat and whose values are strings."""
    table = check.table
    if table.format in ("json_schema", "avro", "protobuf"):
        check.add(check.path("source"), "flat messages of canal are plain JSON: write format: json")
    for column in declared_columns(table) if table.columns else ():
        path = check.path("columns", column.place)
        if column.part is not RecordPart.VALUE:
            continue
        is_blob = column.type.strip().lower() == "binary" and canal_keys(table.source).binary == "refuse"
        if has_parts(column.type) or is_blob:
            remedy = ", or set source: {canal: {binary: latin1}}" if is_blob else ""
            message = f"canal writes every value as text, but {column.name} is {column.type}: declare it as string{remedy}"
            check.add(path, message)
        if _steps(column) > 1:
            check.add((*path, "from"), "a row of canal is flat: from must be $ and one key, such as $.id")


def _steps(column: DeclaredColumn) -> int:
    try:
        return len(column.keys)
    except ValueError:
        return 0  # the rule of columns reports it


def check_latest(check: TableCheck, has_hive: bool, has_server: bool) -> None:
    """Check the view of the newest states: it needs one topic of a change log, its columns, and metadata."""
    table, latest, path = check.table, check.table.latest, check.path("latest")
    if latest is None:
        return
    if table.sql is not None:
        check.add(path, "is not for tables with sql, whose rows are those of the SELECT")
        return
    log = change_log_of(table.source)
    if log is None:
        check.add(path, "is for tables with source: debezium, maxwell or canal, whose rows have __op")
        return
    if not has_hive:
        check.add(path, "makes a view in Hive: the map needs a hive section")
    elif not has_server:
        check.add(path, "makes a view, which only HiveServer2 can: add hive.url beside hive.metastore")
    if table.pattern is not None or len(table.topics or ()) > 1:
        message = (
            "compares offsets, so the table must read only one topic: give each topic a table with topics"
        )
        check.add(path, message)
    metadata = {kind for kind, _ in metadata_names(table.metadata)}
    needed = [MetadataColumn.PARTITION, MetadataColumn.OFFSET]
    needed += [MetadataColumn.ORDINAL] if log is ChangeLog.CANAL else []
    if missing := [kind.value for kind in needed if kind not in metadata]:
        check.add(
            path,
            f"orders changes with equal {latest.order} by their offsets: add {', '.join(missing)} to metadata",
        )
    names = {column.name.lower() for column in declared_columns(table)} if table.columns else None
    for place, column in (
        *((("key", i), name) for i, name in enumerate(latest.key)),
        (("order",), latest.order),
    ):
        if names is not None and column.lower() not in names:
            check.add((*path, *place), f"the table has no column {column}", closest(column, sorted(names)))


def check_encoding(check: TableCheck) -> None:
    """Check that a text encoding has text to transcode: JSON, CSV, or raw values in a column of strings."""
    table, path = check.table, check.path("encoding")
    if table.encoding == "utf-8":
        return
    if table.format not in ("json", "csv", "raw"):
        message = f"is used only with format json, csv or raw; the table's format is {table.format}"
        check.add(path, message)
    elif table.format == "raw":
        of_value = [c for c in declared_columns(table) if c.part is RecordPart.VALUE]
        if any(column.type.strip().lower() != "string" for column in of_value):
            check.add(path, "transcodes text: the column of the value must be a string, not binary")


def check_csv(check: TableCheck) -> None:
    """Check the section csv and the columns of a table with format csv."""
    table = check.table
    if table.format != "csv":
        if "csv" in check.map_keys.given:
            check.add(
                check.path("csv"), f"only format csv has this key; the table's format is {table.format}"
            )
        return
    _check_characters(check)
    _check_header(check)
    for column in declared_columns(table) if table.columns else ():
        if column.part is RecordPart.VALUE and has_parts(column.type):
            path = check.path("columns", column.place)
            check.add(path, f"a field of csv is a single text, but {column.name} is {column.type}")


def _check_header(check: TableCheck) -> None:
    table, header = check.table, check.table.csv.header
    columns = [c for c in declared_columns(table) if c.part is RecordPart.VALUE] if table.columns else []
    if header and columns and len(header) != len(columns):
        message = f"has {len(header)} fields for {len(columns)} columns: no record could match it"
        check.add(check.path("csv", "header"), message)
    if header and table.sql is not None:
        message = "is not used with sql: exclude header lines in its WHERE"
        check.add(check.path("csv", "header"), message)


def _check_characters(check: TableCheck) -> None:
    options = check.table.csv
    delimiter = options.delimiter
    characters = {"quote": options.quote, "escape": options.escape}
    singles = {name: one for name, one in characters.items() if one is not None and (one or name != "quote")}
    for name, text in {"delimiter": delimiter, **singles}.items():
        if (
            not text
            or not text.isascii()
            or set(text) & set("\r\n\0")
            or (name != "delimiter" and len(text) > 1)
        ):
            several = " or several" if name == "delimiter" else ""
            message = f"expected one ASCII character{several} other than a line break or NUL"
            check.add(check.path("csv", name), message)
            return
    used = "".join(singles.values())
    if len(set(used)) < len(used) or set(used) & set(delimiter):
        check.add(check.path("csv"), "delimiter, quote and escape must be different characters")
    elif len(delimiter) > 1 and options.trim and set(delimiter) & set(" \t"):
        check.add(check.path("csv", "delimiter"), "must not have a blank or tab, which trim removes")
    else:
        _check_nulls(check)


def _check_nulls(check: TableCheck) -> None:
    options = check.table.csv
    name = "nulls" if options.nulls else "null_text"
    path = check.path("csv", name)
    if options.nulls and options.null_text:
        check.add(path, "excludes null_text: list its text, too")
    if len(set(options.nulls)) < len(options.nulls):
        check.add(path, "has a text twice")
    if len(options.nulls) > 1 and (both := set(options.header) & set(options.nulls)):
        check.add(check.path("csv", "header"), f"has {min(both)!r}, which nulls makes NULL")
    for text in options.null_texts:
        # the escape is allowed, as in \\N: the text is compared before it is unescaped
        if any(mark in text for mark in ("\r", "\n", options.delimiter, options.quote) if mark):
            check.add(path, "must not have a delimiter, quote or line break")
        elif options.trim and text != text.strip(" \t"):
            check.add(path, "must not begin or end with a blank or tab, which trim removes")


def check_decoder(check: TableCheck) -> None:
    """Check the decoder of format plugin."""
    table = check.table
    if table.format != "plugin":
        if "plugin" in check.map_keys.given:
            check.add(
                check.path("plugin"),
                f"only format plugin has this key; the table's format is {table.format}",
            )
        return
    if table.plugin is None:
        check.add(check.path("format"), "plugin needs a section plugin with the decoder's name")
        return
    check.require_plugin(PluginKind.DECODER, table.plugin, check.path("plugin"))
    if (log := change_log_of(table.source)) is not None:
        check.add(
            check.path("source"), f"is not used with format plugin: the decoder unpacks {log.value} itself"
        )
    for column in declared_columns(table) if table.columns else ():
        if column.part is RecordPart.VALUE and (column.path is not None or column.unit is not None):
            path = check.path("columns", column.place)
            check.add(
                path, "from and unit are not used with format plugin: the decoder fills the columns by name"
            )

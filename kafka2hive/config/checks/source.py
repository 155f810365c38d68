"""What the topics of a table hold, against the table's other options."""

from kafka2hive.config.checks.table_options import CheckedTable, declared_columns
from kafka2hive.config.values.change_log import BEFORE, ChangeLogKeys, change_log_of, keeps_before
from kafka2hive.config.values.columns import RecordPart


def check_source(checked: CheckedTable) -> None:
    table, path = checked.table, checked.path("source")
    if isinstance(table.source, ChangeLogKeys) and (table.source.debezium is None) == (
        table.source.maxwell is None
    ):
        checked.add(path, "needs exactly one of debezium and maxwell")
    log = change_log_of(table.source)
    if log is None:
        return
    if table.format in ("raw", "csv"):
        told = f"the envelope of {log.value} is unpacked with format json or avro"
        checked.add(path, f"{told}; for {table.format} write source: binlog")
    if keeps_before(table.source) and any(
        column.path is not None or column.unit is not None
        for column in declared_columns(table)
        if column.part is RecordPart.VALUE
    ):
        checked.add(path, f"{BEFORE} is a struct of the columns: none of them can have from or unit")

"""Plug-ins that one table names: installed, and where they belong."""

from kafka2hive.config.checks.table_options import CheckedTable, declared_columns
from kafka2hive.config.problems import Path, closest
from kafka2hive.config.values.change_log import change_log_of
from kafka2hive.config.values.columns import RecordPart
from kafka2hive.config.values.plugin import PluginOptions
from kafka2hive.model.plugins import PluginKind, fault_of, installed


def check_plugins(checked: CheckedTable) -> None:
    table = checked.table
    if table.bucket.plugin is not None:
        _check_installed(checked, PluginKind.BUCKETER, table.bucket.plugin, checked.path("bucket", "plugin"))
    if table.format != "plugin":
        if "plugin" in checked.own.given:
            checked.add(checked.path("plugin"), f"is used with format plugin, the table's is {table.format}")
        return
    if table.plugin is None:
        checked.add(checked.path("format"), "plugin needs a section plugin with the decoder's name")
        return
    _check_installed(checked, PluginKind.DECODER, table.plugin, checked.path("plugin"))
    if (log := change_log_of(table.source)) is not None:
        checked.add(checked.path("source"), f"a plug-in's records are rows: it unpacks {log.value} itself")
    for column in declared_columns(table) if table.columns else ():
        if column.part is RecordPart.VALUE and (column.path is not None or column.unit is not None):
            path = checked.path("columns", column.place)
            checked.add(
                path, "from and unit are not for format plugin: the decoder fills the columns by name"
            )


def _check_installed(checked: CheckedTable, kind: PluginKind, plugin: PluginOptions, path: Path) -> None:
    if (fault := fault_of(kind, plugin.name)) is not None:
        checked.add((*path, "name"), fault, closest(plugin.name, installed(kind)))

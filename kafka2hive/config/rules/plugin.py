"""The rules of the plug-ins that a table names: each must be installed and fit the formats that the table sets."""

import re
from typing import get_args

from kafka2hive.config.keys.change_log import change_log_of
from kafka2hive.config.keys.columns import RecordPart
from kafka2hive.config.keys.services import PluginOptions
from kafka2hive.config.keys.writer import FileFormat
from kafka2hive.config.rules.table_options import CheckedTable, declared_columns
from kafka2hive.config.yaml.problems import Path, closest
from kafka2hive.model.entry_points import PluginKind, fault_of, plugin_names

_SUFFIX = re.compile(r"[a-z][a-z0-9]{0,15}")


def check_plugins(checked: CheckedTable) -> None:
    table = checked.table
    _check_writer(checked)
    if table.bucket.plugin is not None:
        check_installed(checked, PluginKind.BUCKETER, table.bucket.plugin, checked.path("bucket", "plugin"))
    if table.format != "plugin":
        if "plugin" in checked.map_keys.given:
            checked.add(
                checked.path("plugin"),
                f"only format plugin has this key; the table's format is {table.format}",
            )
        return
    if table.plugin is None:
        checked.add(checked.path("format"), "plugin needs a section plugin with the decoder's name")
        return
    check_installed(checked, PluginKind.DECODER, table.plugin, checked.path("plugin"))
    if (log := change_log_of(table.source)) is not None:
        checked.add(
            checked.path("source"), f"is not used with format plugin: the decoder unpacks {log.value} itself"
        )
    for column in declared_columns(table) if table.columns else ():
        if column.part is RecordPart.VALUE and (column.path is not None or column.unit is not None):
            path = checked.path("columns", column.place)
            checked.add(
                path, "from and unit are not for format plugin: the decoder fills the columns by name"
            )


def _check_writer(checked: CheckedTable) -> None:
    writer, path = checked.table.writer, checked.path("writer", "plugin")
    if (writer.format == "plugin") != (writer.plugin is not None):
        message = (
            f"only format plugin has this key; the writer's format is {writer.format}"
            if writer.plugin is not None
            else "is missing: format plugin needs a writer's name"
        )
        checked.add(path, message)
    if writer.plugin is None:
        return
    name = writer.plugin.name
    if not _SUFFIX.fullmatch(name) or name in get_args(FileFormat):
        message = f"{name} becomes the suffix of files: 1 to 16 letters a-z and digits, a letter first, and not a built-in format"
        checked.add((*path, "name"), message)
    else:
        check_installed(checked, PluginKind.WRITER, writer.plugin, path)
    if checked.table.schema_evolution == "add":
        message = "add is not for files of a plug-in: Hive may not read old files with new columns"
        checked.add(checked.path("schema_evolution"), message)


def check_installed(checked: CheckedTable, kind: PluginKind, plugin: PluginOptions, path: Path) -> None:
    if (fault := fault_of(kind, plugin.name)) is not None:
        checked.add((*path, "name"), fault, closest(plugin.name, plugin_names(kind)))

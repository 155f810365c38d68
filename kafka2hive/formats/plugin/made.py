"""A writer of a package, made and looked at."""

from typing import cast

from kafka2hive.config.values import PluginOptions
from kafka2hive.model.entry_points import PluginKind, fault_of_storage, foreign_code, load
from kafka2hive.model.errors import TableError
from kafka2hive.plugins import FileWriter, HiveStorage, WriterContext


def writer_of(plugin: PluginOptions) -> FileWriter:
    """Raises TableError: `plugin.missing`, `plugin.failed`."""
    make = load(PluginKind.WRITER, plugin.name)
    with foreign_code(PluginKind.WRITER, plugin.name):
        return cast("FileWriter", make(WriterContext(options=dict(plugin.options))))


def storage_of(plugin: PluginOptions) -> HiveStorage:
    """How Hive reads this writer's files. Raises TableError: `plugin.missing`, `plugin.failed`, `plugin.result`."""
    writer = writer_of(plugin)
    with foreign_code(PluginKind.WRITER, plugin.name):
        found = writer.hive
    if (fault := fault_of_storage(found)) is not None:
        raise wrong_result(plugin.name, fault)
    return found


def wrong_result(name: str, fault: str) -> TableError:
    return TableError(
        "plugin.result",
        f"{PluginKind.WRITER.value} {name}: {fault}",
        "correct the plug-in; nothing of the epoch was committed for the table",
    )

"""Complete partitions of one table: its bucket must say when a partition is over."""

from kafka2hive.config.checks.plugin import check_installed
from kafka2hive.config.checks.table_options import CheckedTable
from kafka2hive.config.grammars.bucket_path import read_bucket_path
from kafka2hive.config.grammars.bucket_period import period_of
from kafka2hive.model.entry_points import PluginKind


def check_completion(checked: CheckedTable) -> None:
    completion = checked.table.completion
    if completion is None:
        return
    path = checked.path("completion")
    bucket = read_bucket_path(checked.table.bucket.path)
    if completion.plugin is not None:
        check_installed(checked, PluginKind.COMPLETION_POLICY, completion.plugin, (*path, "plugin"))
    if bucket.faults:
        return
    if not bucket.levels:
        checked.add(path, "is for tables with partitions: bucket.path is empty")
    elif completion.plugin is None and period_of(bucket) is None:
        told = (
            f"bucket.path {checked.table.bucket.path} names no period of time that can be over: use whole dates such as "
            "%Y-%m-%d, or a plugin that decides"
        )
        checked.add(path, told)

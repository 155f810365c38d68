"""The fields of a bucket's path by code that a package offers."""

import pyarrow as pa

from kafka2hive.model.entry_points import PluginKind, foreign_code, load
from kafka2hive.model.errors import TableError
from kafka2hive.plugins import BucketerContext


class PluginFields:
    """See FieldBucketer. Raises TableError: `plugin.missing`, `plugin.failed`, `plugin.result`."""

    def __init__(self, name: str, context: BucketerContext) -> None:
        self._name = name
        self._schema = pa.schema([(field, pa.string()) for field in context.fields])
        make = load(PluginKind.BUCKETER, name)
        with foreign_code(PluginKind.BUCKETER, name):
            self._bucketer = make(context)

    def fields(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        with foreign_code(PluginKind.BUCKETER, self._name):
            found = self._bucketer.fields(rows)
        if (fault := self._fault_of(found, len(rows))) is not None:
            raise TableError(
                "plugin.result",
                f"{PluginKind.BUCKETER.value} {self._name}: {fault}",
                "correct the plug-in; nothing of the epoch was committed for the table",
            )
        batch: pa.RecordBatch = found
        return batch

    def _fault_of(self, found: object, rows: int) -> str | None:
        if not isinstance(found, pa.RecordBatch) or not found.schema.equals(self._schema):
            wanted = ", ".join(self._schema.names)
            return f"fields gave {type(found).__name__} without exactly the string columns {wanted}"
        if len(found) != rows:
            return f"fields gave {len(found)} rows for {rows}"
        try:
            found.validate(full=True)
        except pa.ArrowInvalid as error:
            return f"fields are damaged: {error}"
        return None

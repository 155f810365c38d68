"""Search a table's files for placeholders of values that the database did not log, by a list that the decoders do not have."""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import ChangeLog, TableSettings
from kafka2hive.config.keys.source import change_log_of, placeholder_of
from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.files import UNREADABLE
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import Finding

_DEFAULT = "__debezium_unavailable_value"
_NAMES = "__unavailable"
_BATCH_ROWS = 32_768


def placeholder_findings(reader: FileReader, path: str, table: TableSettings) -> list[Finding]:
    """Return a finding for each column of the file that holds a placeholder, or a value although the row says it has none.

    A file that cannot be read has no findings here.
    """
    if change_log_of(table.source) is not ChangeLog.DEBEZIUM:
        return []
    known = {_bytes(_DEFAULT), _bytes(placeholder_of(table.source) or _DEFAULT)}
    held: Counter[str] = Counter()
    named: Counter[str] = Counter()
    columns = [field.name for field in reader.schema if _is_searched(field.type)]
    try:
        for batch in reader.batches(columns, _BATCH_ROWS) if columns else ():
            for name in columns:
                column = batch.column(name)
                held[name] += max(_rows_with(column, placeholder) for placeholder in known)
            if _NAMES in columns:
                named.update(_values_of_named_columns(batch))
    except UNREADABLE:
        return []
    texts = [
        f"{counted(rows, 'row')} with the connector's placeholder in column {name}"
        for name, rows in held.items()
        if rows
    ]
    texts += [
        f"{counted(rows, 'row')} with a value in column {name}, which {_NAMES} names"
        for name, rows in named.items()
    ]
    return [Finding("verify.unavailable", path, text) for text in texts]


def _bytes(placeholder: str) -> bytes:
    return bytes.fromhex(placeholder[4:]) if placeholder.startswith("hex:") else placeholder.encode()


def _is_searched(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _is_searched(kind.value_type) or pa.types.is_integer(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _rows_with(column: pa.Array, placeholder: bytes) -> int:
    """Return how many values are the placeholder; how many elements, if the values are lists of texts or bytes."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_list(kind) and pa.types.is_integer(kind.value_type):
        long_enough = pc.equal(pc.list_value_length(column), len(placeholder))
        numbers = [byte - 256 if byte > 127 else byte for byte in placeholder]
        return sum(one == numbers for one in column.filter(pc.fill_null(long_enough, False)).to_pylist())
    if pa.types.is_list(kind):
        return _rows_with(pc.list_flatten(column), placeholder)
    forms: list[bytes | str] = [placeholder]
    if pa.types.is_string(kind):
        forms = [base64.b64encode(placeholder).decode(), placeholder.decode(errors="replace")]
    return sum(pc.sum(pc.equal(column, pa.scalar(form, kind))).as_py() or 0 for form in forms)


def _values_of_named_columns(batch: pa.RecordBatch) -> Iterator[str]:
    """Yield the name of each column that a row names although it has a value there."""
    names: Iterable[list[str] | None] = batch.column(_NAMES).to_pylist()
    for row, of_row in enumerate(names):
        for name in of_row or ():
            if name in batch.schema.names and batch.column(name)[row].is_valid:
                yield name

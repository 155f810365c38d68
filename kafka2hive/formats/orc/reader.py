"""ORC files read back."""

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.orc as orc

from kafka2hive.formats.orc.tail import Tail, parse_tail, tail_length, values_by_column
from kafka2hive.formats.port import FileEnd

_TAIL_BYTES = 64 * 1024


class OrcReader:
    """A whole file (FileReader). Timestamps, which pyarrow gives as nanoseconds, are microseconds again."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._file = orc.ORCFile(BytesIO(data))

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(field.name, _in_microseconds(field.type)) for field in self._file.schema])

    @property
    def rows(self) -> int:
        return int(self._file.nrows)

    def filled_columns(self) -> set[str]:
        counts = iter(values_by_column(parse_tail(self._data[-tail_length(self._data) :])))
        next(counts, None)  # the row itself
        return {field.name for field in self._file.schema if _is_filled(field.type, counts)}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        for number in range(self._file.nstripes):
            stripe = self._file.read_stripe(number, columns=list(columns))
            wanted = pa.schema([schema.field(name) for name in stripe.schema.names])
            for start in range(0, len(stripe), rows):
                yield stripe.slice(start, rows).cast(wanted)


def _is_filled(kind: pa.DataType, counts: Iterator[int | None]) -> bool:
    """`counts`: of this column, and then of those in it, as ORC numbers them: a parent before its children."""
    count = next(counts, None)
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner = [kind.key_type, kind.item_type]
    if not inner:
        return count is None or count > 0
    filled = [_is_filled(one, counts) for one in inner]  # every one takes its counts
    return any(filled)


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _in_microseconds(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_in_microseconds(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_microseconds(field.type)) for field in kind])
    return kind


def orc_end(length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """See formats.opened.end_of. The rows are those of the stripes."""
    data = tail(_TAIL_BYTES)
    needed = tail_length(data)
    if len(data) < needed <= length:
        data = tail(needed)
    found: Tail = parse_tail(data)
    return FileEnd(sum(stripe.rows for stripe in found.stripes), dict(found.user_metadata))

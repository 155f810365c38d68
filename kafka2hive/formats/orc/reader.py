"""A reader of ORC files."""

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.orc as orc

from kafka2hive.formats.contract.port import FileEnd
from kafka2hive.formats.contract.times import batch_in_microseconds, schema_in_microseconds
from kafka2hive.formats.orc.tail import parse_tail, tail_length, values_by_column

_TAIL_BYTES = 64 * 1024


class OrcReader:
    """A whole file (FileReader). Timestamps, which pyarrow returns in nanoseconds, are converted to microseconds."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._file = orc.ORCFile(BytesIO(data))

    @property
    def schema(self) -> pa.Schema:
        return schema_in_microseconds(self._file.schema)

    @property
    def rows(self) -> int:
        return int(self._file.nrows)

    def filled_columns(self) -> set[str]:
        counts = iter(values_by_column(parse_tail(self._data[-tail_length(self._data) :])))
        next(counts, None)  # the count of the root, which is the row
        return {field.name for field in self._file.schema if _is_filled(field.type, counts)}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        for number in range(self._file.nstripes):
            stripe = self._file.read_stripe(number, columns=list(columns))
            for start in range(0, len(stripe), rows):
                yield batch_in_microseconds(stripe.slice(start, rows))


def _is_filled(kind: pa.DataType, counts: Iterator[int | None]) -> bool:
    """Return whether a column holds a value. `counts` begins with this column, followed by those in it."""
    count = next(counts, None)
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner = [kind.key_type, kind.item_type]
    if not inner:
        return count is None or count > 0
    filled = [_is_filled(one, counts) for one in inner]  # no short cut: each must consume its counts
    return any(filled)


def orc_end(length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """See formats.readers.end_of. The row count is the sum over the stripes."""
    data = tail(_TAIL_BYTES)
    size = tail_length(data)
    if len(data) < size <= length:
        data = tail(size)
    orc_tail = parse_tail(data)
    return FileEnd(sum(stripe.rows for stripe in orc_tail.stripes), dict(orc_tail.user_metadata))

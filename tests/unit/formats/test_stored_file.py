"""Large files of formats with parts are fetched while their rows are read; an error of the storage comes through the reader."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.files import encoding_of, open_stored
from kafka2hive.storage.port import StorageError, Unavailable
from kafka2hive.storage.stored_file import StoredFile

GROUPS, ROWS = 8, 200_000
SCHEMA = pa.schema([("id", pa.int64()), ("noise", pa.float64())])


def group(number: int) -> pa.Table:
    noise = np.random.default_rng(number).random(ROWS)
    return pa.table({"id": np.arange(ROWS) + number * ROWS, "noise": noise}, schema=SCHEMA)


def file_of(format: str) -> bytes:
    sink = pa.BufferOutputStream()
    encoder = encoding_of(WriterOptions(format=format)).open(sink, group(0))  # type: ignore[arg-type]
    for number in range(GROUPS):
        encoder.write(group(number))
    encoder.end({})
    return bytes(sink.getvalue())


@dataclass
class Fetched:
    """The parts of a file that were asked for; `refuse` says from which byte on the storage fails."""

    data: bytes
    refuse: Callable[[int], bool] = lambda start: False
    parts: list[tuple[int, int]] = field(default_factory=list)

    def part(self, start: int, count: int) -> bytes:
        if self.refuse(start):
            raise Unavailable("/file", "no route to host")
        self.parts.append((start, count))
        return self.data[start : start + count]

    @property
    def bytes(self) -> int:
        return sum(count for _, count in self.parts)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_rows_are_read_before_the_whole_file_is_fetched(format: str) -> None:
    fetched = Fetched(file_of(format))
    reader = open_stored(StoredFile(len(fetched.data), fetched.part), format)
    batches = reader.batches(["id", "noise"], ROWS)
    read = [next(batches)]
    assert fetched.bytes < len(fetched.data)
    read += batches
    assert pa.Table.from_batches(read) == pa.concat_tables([group(n) for n in range(GROUPS)])
    assert reader.rows == GROUPS * ROWS and reader.filled_columns() == {"id", "noise"}
    assert fetched.bytes < 2 * len(fetched.data)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_an_error_of_the_storage_is_not_taken_for_a_damaged_file(format: str) -> None:
    fetched = Fetched(file_of(format))
    reader = open_stored(StoredFile(len(fetched.data), fetched.part), format)
    fetched.refuse = lambda start: start > len(fetched.data) // 2
    with pytest.raises(StorageError, match="no route to host"):
        list(reader.batches(["id"], ROWS))


def test_a_closed_file_is_released_once() -> None:
    released: list[int] = []
    file = StoredFile(3, lambda start, count: b"abc"[start : start + count], lambda: released.append(1))
    assert file.read() == b"abc"
    file.close()
    del file
    assert released == [1]

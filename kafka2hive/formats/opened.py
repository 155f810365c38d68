"""Files read back: by what they begin with where a whole file is at hand, by their name where only its end is."""

from collections.abc import Callable

import pyarrow as pa

from kafka2hive.formats.orc.encoding import OrcEncoding
from kafka2hive.formats.orc.reader import OrcReader, orc_end
from kafka2hive.formats.orc.tail import MAGIC
from kafka2hive.formats.parquet.encoding import ParquetEncoding
from kafka2hive.formats.parquet.reader import ParquetReader, parquet_end
from kafka2hive.formats.port import FileEnd, FileReader

UNREADABLE = (pa.ArrowException, OSError)
"""What is raised for a damaged file, or one of no known format."""


def opened(data: bytes) -> FileReader:
    """A whole file. Raises UNREADABLE."""
    return OrcReader(data) if data.startswith(MAGIC) else ParquetReader(data)


def end_of(extension: str, length: int, tail: Callable[[int], bytes]) -> FileEnd | None:
    """The footer of a file with this extension and length; None for an unknown one. `tail` gives that many last bytes.

    Raises UNREADABLE, and what `tail` raises.
    """
    match extension:
        case ParquetEncoding.extension:
            return parquet_end(length, tail)
        case OrcEncoding.extension:
            return orc_end(length, tail)
        case _:
            return None

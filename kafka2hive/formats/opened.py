"""Files read back: by what they begin with where a whole file is at hand, by their name where only its end is."""

from collections.abc import Callable

import pyarrow as pa

from kafka2hive.config.values.writer import LINE_FORMATS
from kafka2hive.formats.lines.codec import CODEC_NAMES, codec_of
from kafka2hive.formats.lines.reader import LinesReader, Plain
from kafka2hive.formats.lines.trailer import read_trailer
from kafka2hive.formats.orc.encoding import OrcEncoding
from kafka2hive.formats.orc.reader import OrcReader, orc_end
from kafka2hive.formats.orc.tail import MAGIC
from kafka2hive.formats.parquet.encoding import ParquetEncoding
from kafka2hive.formats.parquet.reader import ParquetReader, parquet_end
from kafka2hive.formats.port import FileEnd, FileReader

UNREADABLE = (pa.ArrowException, OSError)
"""What is raised for a damaged file, or one of no known format."""


def opened(data: bytes, extension: str = "", plain: Plain | None = None) -> FileReader:
    """A whole file. `extension` of its name, as far as it is known: it tells files of lines without compression.

    `plain`: what those do not say; without it they have rows, but no columns. Raises UNREADABLE.
    """
    if extension.partition(".")[0] in LINE_FORMATS or codec_of(data) is not None:
        return LinesReader(data, plain)
    return OrcReader(data) if data.startswith(MAGIC) else ParquetReader(data)


def end_of(extension: str, length: int, tail: Callable[[int], bytes]) -> FileEnd | None:
    """The footer of a file with this extension and length; None for one that has none, or an unknown one.

    `tail` gives that many last bytes. Raises UNREADABLE, and what `tail` raises.
    """
    match extension.split("."):
        case [ParquetEncoding.extension]:
            return parquet_end(length, tail)
        case [OrcEncoding.extension]:
            return orc_end(length, tail)
        case [format, suffix] if format in LINE_FORMATS and suffix in CODEC_NAMES:
            return read_trailer(CODEC_NAMES[suffix], length, tail)
        case _:
            return None

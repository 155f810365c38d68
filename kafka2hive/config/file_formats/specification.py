"""The facts about a file format: which options it takes, what it holds, and how Hive and other readers read it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

from kafka2hive.config.keys.columns import Column
from kafka2hive.config.keys.table import TableReader
from kafka2hive.config.keys.writer import Compression, FileFormat, WriterOptions

Fault = tuple[tuple[str, ...], str]
"""A key below `writer`, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class StoredAs:
    """How Hive stores a format. `name` is for messages, `declared` is the clause of CREATE TABLE.

    - `input_format`: a part of the input format's class name, in lower case. `output_format`: of the output format's.
    - `serdes`: the classes that may read the rows; the first is that of new tables.
    - `input_class`, `output_class`: the classes of new tables, with their packages.
    - `by_place`: Hive matches columns by position, not by name.
    - `has_own_name`: `STORED AS` and `SET FILEFORMAT` take the format's name.
    - `has_row_format`: the SerDe reads by properties that `writer.text` of the map declares.
    - `serde_has_columns`: Hive takes the table's columns from the SerDe, unless a list of SerDes says otherwise.
    - `hides_case_of_fields`: Hive matches fields of structs case-sensitively, but describes all of them in lower case.
    """

    name: str
    declared: str
    input_format: str
    output_format: str
    serdes: tuple[str, ...]
    input_class: str
    output_class: str
    by_place: bool = False
    has_own_name: bool = False
    has_row_format: bool = False
    serde_has_columns: bool = False
    hides_case_of_fields: bool = False


def _no_capitals(_column: Column) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class OlderHive:
    """What Apache Hive before 4 does not read of a format.

    - `codecs`: why it does not read files with a codec.
    - `names`: the names of a column in the files that it finds only in lower case; `capitals`: what to do about others.
      `case_property`: the property with which Hive finds names of any case if it is false; "" if there is none.
    - `binary`: what it does with values of type binary, and what to do about it.
    - `int64_timestamps`: whether the files may have timestamps that it does not know.
    """

    codecs: Mapping[Compression, str] = field(default_factory=dict)
    names: Callable[[Column], Iterable[str]] = _no_capitals
    capitals: str = ""
    case_property: str = ""
    binary: tuple[str, str] | None = None
    int64_timestamps: bool = False


@dataclass(frozen=True, slots=True)
class ReaderFault:
    """What a program other than Hive does not read of a format, or with `differs` shows differently; and what to do.

    It holds for files with one of the codecs, for tables with a column of one of the types (words), and only if columns may
    be widened (`evolving`); empty: for all.
    """

    reader: TableReader
    message: str
    remedy: str
    differs: bool = False
    codecs: frozenset[Compression] = frozenset()
    types: frozenset[str] = frozenset()
    evolving: bool = False


def _no_faults(_writer: WriterOptions, _types: Mapping[str, str]) -> Iterator[Fault]:
    return iter(())


def _any_column(_name: str, _hive_type: str) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True, slots=True)
class FileFormatSpec:
    """One file format of the map.

    - `stored_as`: how Hive stores it; None for plug-ins, which declare it themselves.
    - `codecs`: those that it can have; `codec` is the one that a map gets that names none.
    - `no_level`: why the map cannot set the codec's level; "" if it can.
    - `options`: the keys of `writer` that not all formats have, and that this one has.
    - `is_lines`: files are lines, compressed as a whole, so that they say nothing of their columns without compression.
    - `is_widened`: Hive reads existing files correctly after a column's type was widened.
    - `needs_columns`: the map must declare the columns.
    - `needs_library`: only the compiled library writes it.
    - `faults`: what is wrong with writer options and the types of the files' columns by name (empty: unknown).
    - `column_faults`: why a file cannot have a column with this name and type.
    """

    name: FileFormat
    stored_as: StoredAs | None
    codecs: tuple[Compression, ...] = get_args(Compression)
    codec: Compression = "zstd"
    no_level: str = ""
    options: frozenset[str] = frozenset()
    is_lines: bool = False
    is_widened: bool = True
    needs_columns: bool = False
    needs_library: bool = False
    faults: Callable[[WriterOptions, Mapping[str, str]], Iterator[Fault]] = _no_faults
    column_faults: Callable[[str, str], Iterator[str]] = _any_column
    older_hive: OlderHive = OlderHive()
    reader_faults: tuple[ReaderFault, ...] = ()

    @property
    def title(self) -> str:
        """The name for messages."""
        return self.name if self.stored_as is None else self.stored_as.name


def columnar(
    name: str, classes: str, *serdes: str, by_place: bool = False, hides_case_of_fields: bool = False
) -> StoredAs:
    """Return how Hive stores a format whose classes have its name; `classes` is what precedes Input- and OutputFormat."""
    low = name.lower()
    return StoredAs(
        name=name,
        declared=f"STORED AS {name.upper()}",
        input_format=low,
        output_format=low,
        serdes=serdes,
        input_class=f"{classes}InputFormat",
        output_class=f"{classes}OutputFormat",
        by_place=by_place,
        has_own_name=True,
        hides_case_of_fields=hides_case_of_fields,
    )

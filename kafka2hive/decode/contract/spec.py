"""The specification from which every format makes its decoder."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from kafka2hive.config.keys import ChangeLog, CsvOptions, WireFormat
from kafka2hive.config.keys.source import CanalKeys, FlatRows, PluginOptions
from kafka2hive.decode.contract.sources import Source, same_name_sources
from kafka2hive.decode.schemas.writers import SchemaCheck, WriterSchemas
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.plugins import Decoder

if TYPE_CHECKING:
    import pyarrow as pa


FRACTION = "fraction"
"""Fractions of a microsecond were cut off."""
DEFAULT = "default"
"""Missing or null values became the column's default."""
UNKNOWN_ENUM = "unknown_enum"
"""Enum numbers without a name became their digits, or NULL."""
OTHER_JSON = "json"
"""JSON values other than strings became their characters."""
QUOTED = "quoted"
"""Strings were read as numbers or booleans."""
EMPTY = "empty"
"""Empty strings became NULL."""
WHOLE = "whole"
"""Numbers with a point or an exponent were read as whole numbers."""
BOOLEANS = "booleans"
"""Words or numbers were read as booleans."""
NUMBERS = "numbers"
"""Strings were read as numbers with marks."""
NON_FINITE = "non_finite"
"""NaN and infinities became NULL, or were kept."""
BEYOND = "beyond"
"""Times outside the years 1 to 9999 became NULL, or the first or the last time."""
TIME_OF_DAY = "time_of_day"
"""Times lost their time of day in columns of dates, or days became their midnight in columns of timestamps."""

UNAVAILABLE_VALUE = "unavailable"
"""Placeholders of values that the database did not log became NULL."""


@dataclass(frozen=True, slots=True)
class UnavailableValues:
    """What the map says of values that the database did not log.

    `is_marked`: they become NULL, and a column names them. `placeholder` is the connector's, None for its default. `needed` are
    the columns that must have a value.
    """

    is_marked: bool = False
    placeholder: str | None = None
    needed: frozenset[str] = frozenset()


class Changes:
    """Counts by kind the values that a decoder changes because the map allows it, until the caller takes the counts."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._defaults: Counter[str] = Counter()

    def add(self, kind: str, values: int) -> None:
        if values:
            self._counts[kind] += values

    def add_defaults(self, column: str, values: int) -> None:
        """Count `values` values of the column that became its default."""
        self.add(DEFAULT, values)
        self._defaults[column] += values

    def take(self) -> tuple[tuple[str, int], ...]:
        """Return the counts since the last call, sorted by kind, and reset them."""
        counts, self._counts = self._counts, Counter()
        return tuple(sorted(counts.items()))

    def take_defaults(self) -> Counter[str]:
        """Return the number of defaults by column since the last call, and reset it; the counts of `take` include them."""
        defaults, self._defaults = self._defaults, Counter()
        return defaults


@dataclass(frozen=True, slots=True)
class DecoderSpec:
    """What a table's decoder is made from; each format ignores what does not concern it.

    `zone`: the IANA name of the zone whose wall clock the table's timestamps hold.
    `sources`: where the columns' values are; empty: each at the key with the column's name.
    `any_case`: ignore the case of keys and fields.
    `writers`: schemas for `avro` and `protobuf`, by the ids in messages; or the one schema of all messages.
    `check`: receives the schemas that messages name. `wire`: how messages name them.
    `rows`: how a message holds rows: `one`; `lines` for `json` and `csv`; `array` for `json` and `json_schema`.
    `array`: the path to that array in the message's object; empty: the message is the array.
    `element_of`: the messages are elements of the array at this path of the type that their schemas describe.
    `change_log`: the tool whose envelopes are unpacked, in any format with named fields.
    `flat`: Debezium's envelopes are unpacked already. `canal`: options of Canal's messages.
    `decimals`: how Debezium writes decimals in JSON; None: as the records' schemas say.
    `unavailable`: how Debezium writes values that the database did not log.
    `table`, `plugin`: for a plug-in's decoder. `changes`: counts the values that leeway changes.
    """

    format: str
    schema: "pa.Schema"
    zone: str = "UTC"
    sources: Sequence[Source] = ()
    any_case: bool = False
    writers: WriterSchemas | WriterSchema | None = None
    wire: WireFormat = WireFormat()  # noqa: RUF009  a frozen value of another module
    check: SchemaCheck | None = None
    rows: str = "one"
    array: tuple[str, ...] = ()
    element_of: tuple[str, ...] = ()
    csv: CsvOptions = CsvOptions()  # noqa: RUF009  the same
    change_log: ChangeLog | None = None
    flat: FlatRows | None = None
    canal: CanalKeys = CanalKeys()  # noqa: RUF009  the same
    decimals: Literal["text", "base64"] | None = None
    unavailable: UnavailableValues = UnavailableValues()
    table: str = ""
    plugin: PluginOptions | None = None
    changes: Changes = field(default_factory=Changes)

    def source_of_each(self) -> Sequence[Source]:
        """Return the source of each column."""
        return self.sources or same_name_sources(self.schema.names)

    def of_columns(self, schema: "pa.Schema", sources: Sequence[Source]) -> "DecoderSpec":
        """Return the specification for other columns of the same messages."""
        return replace(self, schema=schema, sources=sources)


OpenDecoder = Callable[["pa.Schema", Sequence[Source]], Decoder]
"""Returns a table's decoder for other columns of the same messages."""

MakeDecoder = Callable[[DecoderSpec], Decoder]
"""Returns a decoder. Raises ValueError for an unknown zone, or for columns that the format cannot fill."""

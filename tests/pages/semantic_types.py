"""What each semantic type becomes in each column, for docs/decoding.md: asked of the functions that the decoders use."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from kafka2hive.decode.avro import plan as avro
from kafka2hive.decode.avro.resolve import clock_unit, scalar
from kafka2hive.decode.contract.forms import AsWritten, Epoch, Form, Mismatch, SinceMidnight, Unscaled
from kafka2hive.decode.contract.sources import Source, exact_spelling
from kafka2hive.decode.protobuf import plan as protobuf
from kafka2hive.decode.protobuf.resolve import is_clock, single
from kafka2hive.decode.schemas.avro import AvroPrimitive, ConnectType, Decimal, Fixed
from kafka2hive.decode.schemas.protobuf import ProtobufField, ProtobufSchema, parse
from kafka2hive.decode.semantics.connect import source_by
from kafka2hive.decode.semantics.types import SEMANTIC_TYPES, Kind, SemanticType
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import PROTOBUF, WriterSchema

COLUMNS = {
    "timestamp": "timestamp",
    "date": "date",
    "decimal": "decimal(38,6)",
    "bigint": "bigint",
    "double": "double",
    "string": "string",
    "binary": "binary",
}
"""The columns of the tables in the document, with the Hive type that each of them stands for."""
LETTER = "-"
TEXT = "its text"
_WIRE = {Kind.TEXT: "string", Kind.ISO_DATE: "string", Kind.ISO_TIMESTAMP: "string", Kind.DECIMAL: "bytes"}
_WIRE |= {Kind.BYTES: "bytes", Kind.STRUCTURE: "struct", Kind.DAY: "int32"}
_AVRO_WIRE = {"int32": "int", "int64": "long", "string": "string", "bytes": "bytes"}
_CONDITIONS = {(None, "d"): "with `unit` `s` to `ns`", (None,): "with a `unit`"}
"""What to say of the units with which a column takes a value, by those without."""
_UNITS = (None, "d", "s", "ms", "us", "ns")

WELL_KNOWN = {
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
    "google.protobuf.Duration": "google/protobuf/duration.proto",
    "google.type.Date": "google/type/date.proto",
    "confluent.type.Decimal": "confluent/type/decimal.proto",
    "google.protobuf.Int64Value": "google/protobuf/wrappers.proto",
    "google.protobuf.StringValue": "google/protobuf/wrappers.proto",
    "google.protobuf.BytesValue": "google/protobuf/wrappers.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    "google.type.DateTime": "google/type/datetime.proto",
    "google.type.Money": "google/type/money.proto",
}
_LOGICAL: dict[str, AvroPrimitive | Fixed] = {
    "date": AvroPrimitive("int", "date"),
    "time-millis": AvroPrimitive("int", "time-millis"),
    "time-micros": AvroPrimitive("long", "time-micros"),
    **{
        f"{local}timestamp-{unit}": AvroPrimitive("long", f"{local}timestamp-{unit}")
        for local in ("", "local-")
        for unit in ("millis", "micros", "nanos")
    },
    "decimal": AvroPrimitive("bytes", Decimal(10, 3)),
    "uuid of a string": AvroPrimitive("string", "uuid"),
    "uuid of a fixed": Fixed("U", 16, "uuid"),
    "duration": Fixed("D", 12, "duration"),
}


def semantic_types() -> dict[str, Callable[[], str]]:
    """The generated parts by name."""
    return {
        "semantic types": _connect_types,
        "logical types": _logical_types,
        "well-known types": _well_known_types,
    }


def _table(first: str, rows: Iterator[Sequence[str]]) -> str:
    """Return a table in which types that become the same in every column share a row."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, *cells in rows:
        names.setdefault(tuple(cells), []).append(name)
    heads = [first, *COLUMNS]
    lines = [heads, ["---"] * len(heads), *([", ".join(same), *cells] for cells, same in names.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _connect_types() -> str:
    return _table("type, in JSON and Avro", _connect_rows())


def _connect_rows() -> Iterator[Sequence[str]]:
    for name, semantic_type in SEMANTIC_TYPES.items():
        cells = []
        for kind in COLUMNS.values():
            of_json = _cell(kind, partial(_of_json, name, semantic_type))
            of_avro = _cell(kind, partial(_of_avro, name, semantic_type))
            is_record = semantic_type.kind is Kind.STRUCTURE  # of Avro, which fills a struct
            cells.append(of_json if of_json == of_avro or is_record else f"{of_json}; Avro: {of_avro}")
        yield [f"`{name}`", *cells]


def _cell(kind: str, word: Callable[[pa.DataType, str | None], str]) -> str:
    """Return the one word for a type and all units that a column of it may have."""
    dtype = parse_hive_type(kind)
    words: dict[str, list[str | None]] = {}
    for unit in _UNITS if kind in ("timestamp", "date") else (None,):
        words.setdefault(word(dtype, unit), []).append(unit)
    if len(words) == 1:
        return next(iter(words))
    units = words.pop(LETTER)
    (other,) = words
    return f"{other}, {_CONDITIONS[tuple(units)]}"


def _of_json(name: str, semantic_type: SemanticType, dtype: pa.DataType, unit: str | None) -> str:
    wire = _WIRE.get(semantic_type.kind, "int64")
    schema = {"type": wire, "name": name, "parameters": {"scale": "3"}}
    form = source_by(schema, dtype, Source(("payload",), unit), exact_spelling).form
    return _form_word(form, wire, dtype)


def _form_word(form: Form | None, wire: str, dtype: pa.DataType) -> str:
    match form:
        case Epoch(unit):
            return "the day" if unit == "d" else f"converted from {unit}"
        case Unscaled():
            return "converted from its scale"
        case SinceMidnight():
            return TEXT
        case AsWritten() if wire == "bytes" and pa.types.is_string(dtype):
            return "its base64"
        case AsWritten() if wire == "bytes" and not pa.types.is_binary(dtype):
            return "a number"
        case AsWritten():
            return "read as ISO text" if wire == "string" and not pa.types.is_string(dtype) else "unchanged"
    assert isinstance(form, Mismatch)
    return LETTER


def _of_avro(name: str, semantic_type: SemanticType, dtype: pa.DataType, unit: str | None) -> str:
    kind = _AVRO_WIRE.get(_WIRE.get(semantic_type.kind, "int64"))
    if kind is None:
        return LETTER
    logical = ConnectType(name, 3 if semantic_type.kind is Kind.DECIMAL else None)
    if pa.types.is_string(dtype) and clock_unit(AvroPrimitive(kind, logical)):
        return TEXT
    return _plan_word(scalar(AvroPrimitive(kind, logical), dtype, unit), semantic_type.unit)


def _plan_word(value: object, unit: str) -> str:
    match value:
        case None:
            return LETTER
        case avro.AvroDay() | protobuf.ProtobufDay():
            return "the day"
        case avro.AvroMoment():
            return "the day" if unit == "d" else f"converted from {unit}"
        case avro.AvroUnscaled() | protobuf.ProtobufUnscaled():
            return "converted from its scale"
        case avro.Uuid():
            return "its text"
        case protobuf.Stamp():
            return "converted"
        case protobuf.ProtobufSpan():
            return "seconds"
        case protobuf.ProtobufMoment():
            return "converted"
        case protobuf.Wrapped(inner):
            return _plan_word(inner, unit)
    return "unchanged"


def _logical_types() -> str:
    rows = (
        [
            f"`{name}`" if " " not in name else f"`uuid` {name.removeprefix('uuid ')}",
            *(_cell(kind, partial(_of_logical, name, written)) for kind in COLUMNS.values()),
        ]
        for name, written in _LOGICAL.items()
    )
    return _table("logical type of Avro", rows)


def _of_logical(name: str, written: AvroPrimitive | Fixed, dtype: pa.DataType, unit: str | None) -> str:
    own_unit = {"millis": "ms", "micros": "us", "nanos": "ns"}.get(name.rpartition("-")[2], "d")
    if pa.types.is_string(dtype) and clock_unit(written):
        return TEXT
    return _plan_word(scalar(written, dtype, unit), own_unit)


def _well_known_types() -> str:
    fields = " ".join(f"{name} f{at} = {at};" for at, name in enumerate(WELL_KNOWN, 1))
    imports = " ".join(f'import "{file}";' for file in dict.fromkeys(WELL_KNOWN.values()))
    schema = parse(WriterSchema(PROTOBUF, f'syntax = "proto3"; {imports} message M {{ {fields} }}', ()))
    rows = (
        [f"`{name}`", *(_cell(kind, partial(_of_message, field, schema)) for kind in COLUMNS.values())]
        for name, field in zip(WELL_KNOWN, schema.messages["M"].fields, strict=True)
    )
    return _table("well-known type of Protobuf", rows)


def _of_message(field: ProtobufField, schema: ProtobufSchema, dtype: pa.DataType, unit: str | None) -> str:
    if pa.types.is_string(dtype) and field.kind == "message" and is_clock(schema.messages[field.type]):
        return TEXT
    return _plan_word(single(field, schema, dtype, unit), "")

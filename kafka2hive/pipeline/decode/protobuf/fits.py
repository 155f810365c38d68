"""Which single value of a writer fills which column, and how: the acceptance table of docs/decoding.md."""

import pyarrow as pa

from kafka2hive.pipeline.decode.epochs import UNITS
from kafka2hive.pipeline.decode.protobuf import plan
from kafka2hive.pipeline.decode.protobuf.schema import LENGTH, WIRE_OF, Enum, Field, Message, Schema
from kafka2hive.pipeline.wall_clock import NAIVE

INTEGERS = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint", "sint", "fixed", "sfixed") for bits in (32, 64)
)

_WRAPPERS = {
    f"google.protobuf.{name}Value": kind
    for name, kind in (
        ("Double", "double"),
        ("Float", "float"),
        ("Int64", "int64"),
        ("UInt64", "uint64"),
        ("Int32", "int32"),
        ("UInt32", "uint32"),
        ("Bool", "bool"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}
_OF_SECONDS = ((1, "int64"), (2, "int32"))
_OF_A_DECIMAL = ((1, "bytes"), (2, "uint32"), (3, "int32"))
_OF_A_DAY = ((1, "int32"), (2, "int32"), (3, "int32"))


def single(field: Field, schema: Schema, dtype: pa.DataType, unit: str | None) -> plan.Value | None:
    """None: it does not fill a column of this type, or only as the struct that any message is."""
    kind = field.kind
    if kind in INTEGERS:
        if unit is not None:
            return plan.Moment(kind, *UNITS[unit])
        return plan.Whole(kind) if _numeric(dtype) else None
    match kind:
        case "bool" if pa.types.is_boolean(dtype):
            return plan.Boolean()
        case "float" | "double" if pa.types.is_floating(dtype):
            return plan.Real(32 if kind == "float" else 64)
        case "string" if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            return plan.Text()
        case "bytes" if pa.types.is_string(dtype):
            return plan.Text()
        case "bytes" if pa.types.is_binary(dtype):
            return plan.Octets()
        case "enum":
            return _enum(schema.enums[field.type], dtype)
        case "message":
            return _well_known(schema.messages[field.type], schema, dtype, unit)
    return None


def default_of(field: Field, schema: Schema) -> bytes:
    """The payload of the value that an absent field has where its presence is not known."""
    if field.kind == "enum":
        return varint(schema.enums[field.type].values[0][0])
    return {0: b"\0", 1: bytes(8), 5: bytes(4)}.get(WIRE_OF[field.kind], b"")


def varint(number: int) -> bytes:
    left = number % 2**64
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def _numeric(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal128(dtype))


def _enum(enum: Enum, dtype: pa.DataType) -> plan.Value | None:
    names: dict[int, str] = {}
    for number, name in enum.values:
        names.setdefault(number, name)
    if pa.types.is_string(dtype):
        return plan.Symbol(tuple(sorted(names.items())))
    if pa.types.is_integer(dtype):
        return plan.Ordinal(tuple(sorted(names)) if enum.closed else ())
    return None


def _well_known(message: Message, schema: Schema, dtype: pa.DataType, unit: str | None) -> plan.Value | None:
    """Only where the fields are those that Google's and Confluent's files give it."""
    fields = tuple((field.number, field.kind) for field in message.fields)
    match message.name:
        case "google.protobuf.Timestamp" if dtype == NAIVE and fields == _OF_SECONDS and unit is None:
            return plan.Stamp()
        case "google.protobuf.Duration" if pa.types.is_decimal128(dtype) and fields == _OF_SECONDS:
            return plan.Span()
        case "confluent.type.Decimal" if pa.types.is_decimal128(dtype) and fields == _OF_A_DECIMAL:
            return plan.Unscaled()
        case "google.type.Date" if pa.types.is_date32(dtype) and fields == _OF_A_DAY and unit is None:
            return plan.Day()
        case name if name in _WRAPPERS and fields == ((1, _WRAPPERS[name]),):
            field = message.fields[0]
            value = single(field, schema, dtype, unit)
            if value is not None:
                return plan.Wrapped(value, WIRE_OF[field.kind], default_of(field, schema))
    return None


assert LENGTH not in (0, 1, 5)  # the payload of what has a length is empty by default

"""The forms of a Protobuf schema's types as JSON, in a table, so that types may be recursive."""

from collections.abc import Callable

from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.schemas.protobuf import Message, ProtobufField, ProtobufSchema

WRAPPERS = {
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
"""The well-known messages around one value of a type."""
SECONDS_FIELDS = ((1, "int64"), (2, "int32"))
"""The fields of a Timestamp and of a Duration."""
DECIMAL_FIELDS = ((1, "bytes"), (2, "uint32"), (3, "int32"))

_OF_VALUE = ((1, "enum"), (2, "double"), (3, "string"), (4, "bool"), (5, "message"), (6, "message"))
_STYLES = {
    "google.protobuf.Timestamp": ("timestamp", SECONDS_FIELDS),
    "google.protobuf.Duration": ("duration", SECONDS_FIELDS),
    "confluent.type.Decimal": ("decimal", DECIMAL_FIELDS),
    "google.protobuf.Any": ("any", ((1, "string"), (2, "bytes"))),
    "google.protobuf.Value": ("choice", _OF_VALUE),
    "google.protobuf.Struct": ("single", ((1, "message"),)),
    "google.protobuf.ListValue": ("single", ((1, "message"),)),
    **{name: ("single", ((1, kind),)) for name, kind in WRAPPERS.items()},
}

_Key = tuple[str, str]
"""The kind of a field, and the full name of its message or enum, or nothing."""


class ProtobufForms:
    """Collects the forms of types in `table`."""

    def __init__(
        self, schema: ProtobufSchema, slot_of: Callable[[Message, ProtobufField], plan.Slot]
    ) -> None:
        """`slot_of` returns a field's slot without columns."""
        self._schema = schema
        self._slot_of = slot_of
        self._numbers: dict[_Key, int] = {}
        self.table: list[plan.JsonForm] = []

    def field(self, slot: plan.Slot, field: ProtobufField) -> plan.JsonField:
        """Return the form of a field, after adding the forms of all types that it leads to."""
        return plan.JsonField(slot, self.number((field.kind, field.type)))

    def number(self, key: _Key) -> int:
        """Return the number of a type's form, after adding the forms of all types that it leads to."""
        if key not in self._numbers:
            waiting = [key]
            self._reserve(key)
            while waiting:
                one = waiting.pop()
                self.table[self._numbers[one]] = self._form(one, waiting)
        return self._numbers[key]

    def _reserve(self, key: _Key) -> int:
        self.table.append(plan.JsonForm(key[0]))
        return self._numbers.setdefault(key, len(self.table) - 1)

    def _form(self, key: _Key, waiting: list[_Key]) -> plan.JsonForm:
        kind, name = key
        if kind == "enum":
            if name == "google.protobuf.NullValue":
                return plan.JsonForm("null")
            names: dict[int, str] = {}
            for number, symbol in self._schema.enums[name].values:
                names.setdefault(number, symbol)
            return plan.JsonForm("enum", symbols=tuple(sorted(names.items())))
        if not name:
            return plan.JsonForm(kind)
        message = self._schema.messages[name]
        fields = []
        for field in message.fields:
            inner = field.kind, field.type
            if inner not in self._numbers:
                self._reserve(inner)
                waiting.append(inner)
            fields.append(plan.JsonField(self._slot_of(message, field), self._numbers[inner]))
        return plan.JsonForm(kind, _style(message), tuple(fields))


def _style(message: Message) -> str:
    style, fields = _STYLES.get(message.name, ("object", None))
    is_known = fields is None or fields == tuple((field.number, field.kind) for field in message.fields)
    return style if is_known else "object"

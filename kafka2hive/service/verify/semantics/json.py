"""Read JSON that Kafka Connect's converter wrote with its schema."""

import base64
import binascii
import json
from decimal import Decimal
from typing import Any

from kafka2hive.service.verify.semantics.values import (
    CONNECT,
    DECIMAL,
    RecordValue,
    ValueType,
    other,
    unscaled,
)

_NO_SCALE = ValueType("bytes of no known scale", "other", frozenset({"timestamp", "date"}))


class JsonRecords:
    """Reads records in JSON."""

    def key(self, message: bytes) -> bytes | None:
        """Return the part of a record that has its schema, to tell schemas apart; None for a record without one."""
        if b'"schema"' not in message:
            return None
        if message.lstrip(b"{ \t\r\n").startswith(b'"schema"'):
            return message[: message.find(b'"payload"')]
        return message[message.rfind(b'"schema"') :]

    def read(self, message: bytes) -> RecordValue:
        """Return the payload; without types if the message has no schema."""
        document = _document(message)
        schema, payload = document.get("schema"), document.get("payload")
        return _value(schema, payload) if isinstance(payload, dict) else RecordValue(None)


def _document(message: bytes) -> dict[str, Any]:
    """Return the object in a message, which may begin with the head of a registry's serializer."""
    try:
        document = json.loads(message[max(message.find(b"{"), 0) :].decode(), parse_float=Decimal)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _value(schema: Any, value: Any) -> RecordValue:
    if not isinstance(schema, dict):
        return RecordValue(None)
    if isinstance(value, dict):
        if schema.get("type") == "map":
            return RecordValue({key: _value(schema.get("values"), inner) for key, inner in value.items()})
        fields = schema.get("fields")
        inner = [one for one in fields if isinstance(one, dict)] if isinstance(fields, list) else []
        names = ((one, one.get("field")) for one in inner)
        return RecordValue(
            {name: _value(one, value.get(name)) for one, name in names if isinstance(name, str)}
        )
    if schema.get("type") == "bytes" and isinstance(value, str):
        return _decimal(schema, value)
    name = schema.get("name")
    if isinstance(name, str) and type(value) is int:
        return RecordValue(value, CONNECT.get(name))
    return RecordValue(value)


def _decimal(schema: dict[str, Any], value: str) -> RecordValue:
    parameters = schema.get("parameters")
    scale = parameters.get("scale") if isinstance(parameters, dict) else None
    try:
        if schema.get("name") != DECIMAL or not isinstance(scale, str):
            return RecordValue(value, _NO_SCALE)
        octets = base64.b64decode(value, validate=True)
        return RecordValue(int.from_bytes(octets, "big", signed=True), unscaled(DECIMAL, int(scale)))
    except (ValueError, binascii.Error):
        return RecordValue(value, other("other than base64 of a scale"))

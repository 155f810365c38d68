"""Random columns, records that fit them, and what readers must give for the records: the same for the same dice."""

import base64
import datetime
import json
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

_SIMPLE = [pa.int64(), pa.int32(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.date32()]
_SIMPLE += [pa.timestamp("us"), pa.decimal128(20, 4)]
_TEXTS = ["", "null", "Grüße", 'a,"b"\\', "\n\t", "\\N", "x" * 60]
_REALS = [0.0, -0.0, 1.5, 0.1, -1e300, 5e-324]
_FIRST = datetime.datetime(1970, 1, 1)


class FileRows:
    """`schema`, and records for it as JSON and as Python values. `nested` deep at most; times are whole milliseconds."""

    def __init__(self, dice: random.Random, nested: int) -> None:
        self._dice = dice
        self._nulls = [dice.choice((0.0, 0.0, 0.1, 0.5, 0.9)) for _ in range(nested + 1)]
        """The share of NULLs, by depth: none around many is what writers get wrong."""
        count = dice.randint(1, 4)
        fields = [(f"c{number}", self._kind(dice.randint(0, nested))) for number in range(count)]
        self.schema = pa.schema([("id", pa.int64()), *fields])

    def _kind(self, nested: int) -> pa.DataType:
        dice = self._dice
        if not nested:
            return dice.choice(_SIMPLE)
        match dice.choice(("struct", "struct", "array", "map")):
            case "struct":
                return pa.struct(
                    [(f"f{n}", self._kind(dice.randint(0, nested - 1))) for n in range(dice.randint(1, 3))]
                )
            case "array":
                return pa.list_(self._kind(nested - 1))
        return pa.map_(pa.string(), self._kind(nested - 1))

    def rows(self, count: int) -> list[dict[str, Any]]:
        return [
            {field.name: n if field.name == "id" else self._value(field.type) for field in self.schema}
            for n in range(count)
        ]

    def _value(self, kind: pa.DataType, depth: int = 0) -> Any:
        dice = self._dice
        if dice.random() < self._nulls[depth]:
            return None
        if pa.types.is_struct(kind):
            return {field.name: self._value(field.type, depth + 1) for field in kind}
        if pa.types.is_map(kind):
            return [(f"k{n}", self._value(kind.item_type, depth + 1)) for n in range(dice.choice((0, 1, 3)))]
        if pa.types.is_list(kind):
            return [self._value(kind.value_type, depth + 1) for _ in range(dice.choice((0, 1, 3)))]
        return self._simple(kind)

    def _simple(self, kind: pa.DataType) -> Any:
        dice = self._dice
        if pa.types.is_integer(kind):
            edge = 2 ** (kind.bit_width - 1)
            return dice.choice((0, -1, edge - 1, -edge, dice.randint(-999, 999)))
        if pa.types.is_floating(kind):
            return dice.choice((*_REALS, dice.random()))
        if pa.types.is_boolean(kind):
            return dice.random() < 0.5
        if pa.types.is_string(kind):
            return dice.choice(_TEXTS)
        if pa.types.is_binary(kind):
            return dice.randbytes(dice.randint(0, 9))
        time = _FIRST + datetime.timedelta(milliseconds=dice.randint(0, 2**43))
        if pa.types.is_date(kind):
            return time.date()
        if pa.types.is_timestamp(kind):
            return time
        return Decimal(dice.randint(-(10**20) + 1, 10**20 - 1)).scaleb(-4)


def as_message(row: dict[str, Any], schema: pa.Schema, dice: random.Random) -> bytes:
    """A record of JSON: NULL as null, or left out."""
    written = {
        field.name: _as_json(row[field.name], field.type)
        for field in schema
        if row[field.name] is not None or dice.random() < 0.5
    }
    return json.dumps(written, ensure_ascii=dice.random() < 0.5).encode()


def _as_json(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _as_json(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return {key: _as_json(item, kind.item_type) for key, item in value}
    if pa.types.is_list(kind):
        return [_as_json(item, kind.value_type) for item in value]
    if pa.types.is_binary(kind):
        return base64.b64encode(value).decode()
    if pa.types.is_decimal(kind) or pa.types.is_date(kind):
        return str(value)
    return value.isoformat() if pa.types.is_timestamp(kind) else value

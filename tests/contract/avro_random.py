"""Random schemas, columns that mostly fit them, and values near the edges; the same for the same dice."""

import random
import struct
from typing import Any

import pyarrow as pa

from kafka2hive.model.hive_types import parse_hive_type

_TIMES = [
    "timestamp-millis",
    "timestamp-micros",
    "timestamp-nanos",
    "local-timestamp-millis",
    "local-timestamp-micros",
]
_EDGES = [0, 1, -1, 63, 64, -65, 127, 128, 2**15, 2**24 + 1, 2**31 - 1, -(2**31)]
_LONG_EDGES = [*_EDGES, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 1372654800000, 1372654800000000]
_REALS = [0.0, -0.0, 1.5, 0.1, 1e300, -1e-300, float("inf"), 16777217.0, 3.4028234663852886e38]
_TEXTS = ["", "a", "é\U0001f600", "\0", "longer than one short word", "x" * 200]


class Maker:
    """Schemas and values of one example."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._names = 0

    def schema(self) -> dict[str, Any]:
        return self._record(self._dice.randint(1, 6), 0)

    def columns(self, schema: Any) -> pa.Schema:
        """Some of the fields in another order, one that the writer does not know, and seldom one that cannot fit."""
        fields = [f for f in schema["fields"] if self._dice.random() < 0.8] or schema["fields"][:1]
        self._dice.shuffle(fields)
        names = [(f["name"], self.column(f["type"])) for f in fields]
        return pa.schema([*names, ("unknown", pa.int32())])

    def value(self, written: Any) -> Any:
        dice = self._dice
        if isinstance(written, list):
            return self.value(dice.choice(written))
        kind = written["type"] if isinstance(written, dict) else written
        match kind:
            case "null":
                return None
            case "boolean":
                return dice.random() < 0.5
            case "int":
                return dice.choice(
                    (dice.choice(_EDGES), dice.randint(-(2**31), 2**31 - 1), dice.randint(-99, 99))
                )
            case "long":
                small = dice.randint(-(10**6), 10**6) * dice.choice((1, 1000))
                return dice.choice((dice.choice(_LONG_EDGES), dice.randint(-(2**63), 2**63 - 1), small))
            case "float":
                return struct.unpack("<f", struct.pack("<f", dice.choice((1.5, -0.0, 0.1, dice.random()))))[0]
            case "double":
                return dice.choice((dice.choice(_REALS), dice.random(), float(dice.randint(-99, 99))))
            case "bytes" if written != "bytes":
                return dice.randint(-(10**6), 10**6).to_bytes(dice.randint(3, 20), "big", signed=True)
            case "bytes":
                return dice.choice((dice.choice(_TEXTS).encode(), dice.randbytes(dice.randint(0, 9))))
            case "string":
                return dice.choice(_TEXTS)
            case "enum":
                return dice.choice(written["symbols"])
            case "fixed":
                small = dice.randint(-99, 99) * 10
                return dice.choice(
                    (dice.randbytes(written["size"]), small.to_bytes(written["size"], "big", signed=True))
                )
            case "array":
                return [self.value(written["items"]) for _ in range(dice.choice((0, 1, 2, 5)))]
            case "map":
                return {f"k{i}": self.value(written["values"]) for i in range(dice.choice((0, 1, 3, 20)))}
        return {field["name"]: self.value(field["type"]) for field in written["fields"]}

    def column(self, written: Any) -> pa.DataType:
        dice = self._dice
        if isinstance(written, list):
            others = [branch for branch in written if branch != "null"] or ["int"]
            return self.column(dice.choice(others))
        if dice.random() < 0.004:
            return pa.bool_()
        kind = written["type"] if isinstance(written, dict) else written
        logical = written.get("logicalType", "") if isinstance(written, dict) else ""
        if logical == "decimal":
            return parse_hive_type(
                dice.choice(("decimal(38,3)", "decimal(12,4)", "decimal(5,0)", "decimal(4,2)"))
            )
        if logical == "date" or "timestamp" in logical:
            return parse_hive_type(dice.choice((logical if logical == "date" else "timestamp", "bigint")))
        wide = ["bigint", "bigint", "int", "smallint", "tinyint"]
        match kind:
            case "int" | "long":
                return parse_hive_type(
                    dice.choice([*wide, *([] if logical else ["double", "float", "decimal(12,2)"])])
                )
            case "float" | "double":
                return parse_hive_type(dice.choice(("double", "float")))
            case "bytes" | "string":
                return parse_hive_type(dice.choice(("string", "binary")))
            case "fixed":
                return parse_hive_type(dice.choice(("string", "binary") if logical else ("binary",)))
            case "array":
                return pa.list_(self.column(written["items"]))
            case "map":
                return pa.map_(pa.string(), self.column(written["values"]))
            case "record":
                fields = [
                    (f["name"], self.column(f["type"])) for f in written["fields"] if dice.random() < 0.8
                ]
                return pa.struct([*fields, ("none", pa.int32())])
        return parse_hive_type({"null": "int", "boolean": "boolean", "enum": "string"}[kind])

    def _record(self, fields: int, depth: int) -> dict[str, Any]:
        self._names += 1
        return {
            "type": "record",
            "name": f"R{self._names}",
            "fields": [{"name": f"f{i}", "type": self._type(depth)} for i in range(fields)],
        }

    def _type(self, depth: int) -> Any:
        dice = self._dice
        if dice.random() < 0.35:
            groups = [["int", "long"], ["float", "double"], ["string"], ["bytes"], ["boolean"], ["null"]]
            picked = dice.sample(groups, dice.randint(1, 3))
            branches: list[Any] = [dice.choice(group) for group in picked]
            if depth < 3 and dice.random() < 0.4:
                branches.append(dice.choice((self._record, self._array))(1, depth + 1))
            return branches
        if depth < 3 and dice.random() < 0.3:
            return dice.choice((self._record, self._array, self._map))(dice.randint(0, 3), depth + 1)
        plain = [
            "null",
            "boolean",
            "int",
            "int",
            "long",
            "long",
            "float",
            "double",
            "bytes",
            "string",
            "string",
        ]
        return dice.choice((dice.choice(plain), self._special()))

    def _array(self, _: int, depth: int) -> dict[str, Any]:
        return {"type": "array", "items": self._type(depth)}

    def _map(self, _: int, depth: int) -> dict[str, Any]:
        return {"type": "map", "values": self._type(depth)}

    def _special(self) -> dict[str, Any]:
        self._names += 1
        name = f"S{self._names}"
        decimal = {"logicalType": "decimal", "precision": 9, "scale": self._dice.choice((0, 2, 5))}
        return self._dice.choice(
            (
                {"type": "enum", "name": name, "symbols": ["A", "B", "CD"]},
                {"type": "fixed", "name": name, "size": 3},
                {"type": "fixed", "name": name, "size": 16, "logicalType": "uuid"},
                {"type": "fixed", "name": name, "size": 5, **decimal},
                {"type": "bytes", **decimal},
                {"type": "int", "logicalType": "date"},
                {"type": "int", "logicalType": "time-millis"},
                {"type": "long", "logicalType": self._dice.choice(_TIMES)},
            )
        )

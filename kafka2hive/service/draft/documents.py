"""The JSON objects of sampled values: one in each, or several, as lines or as an array; and why values hold none."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.rows.json import split_arrays, split_lines
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.scalars import taker
from kafka2hive.model.text import counted
from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.plugins import Decoder

_HEADS = {
    b"\xef\xbb\xbf": "texts with a byte order mark, which JSON and CSV must not have",
    b"\xff\xfe": "texts in UTF-16",
    b"\xfe\xff": "texts in UTF-16",
    b"\x1f\x8b": "gzip, which a producer should leave to Kafka (compression.type)",
    b"\x28\xb5\x2f\xfd": "zstd, which a producer should leave to Kafka (compression.type)",
    b"Obj\x01": "whole Avro files, each with its schema",
    b"\xc3\x01": "Avro's single objects, whose schemas are named by a fingerprint and are in no registry",
    b"\x03\x00": "records of AWS Glue's schema registry",
    b"\x03\x05": "compressed records of AWS Glue's schema registry",
    b"PAR1": "whole Parquet files",
}
Documents = Sequence[dict[str, Any] | None]


def documents_of(values: Sequence[bytes]) -> Documents:
    """None for what no columns could decode."""
    whole = _whole()
    documents: list[dict[str, Any] | None] = [None] * len(values)
    for place in whole.decode(pa.array(values, pa.binary())).accepted.to_pylist():
        with suppress(ValueError):  # a number of thousands of digits
            documents[place] = json.loads(values[place])
    return documents


def several_in(values: Sequence[bytes], known: Documents) -> tuple[str, Documents] | None:
    """How several objects stand in each value (the map's `rows`), and all of them; None where one in each fits more values.

    `known`: the objects that are values of their own.
    """
    singles = sum(document is not None for document in known)
    for rows, split in (("lines", split_lines), ("array", split_arrays)):
        found = split(pa.array(values, pa.binary()))
        within = documents_of(found.texts.to_pylist())
        bad = np.array([document is None for document in within], np.bool_)
        message = np.repeat(np.arange(len(values)), found.counts)
        whole = np.setdiff1d(message, message[bad])
        if len(whole) > singles and 2 * len(whole) >= len(values):
            return rows, within
    return None


def why_none(values: Sequence[bytes]) -> list[str]:
    """What most values are, if it is known, or why most of those that begin as an object are none."""
    heads = Counter(told for value in values for head, told in _HEADS.items() if value.startswith(head))
    for told, count in heads.most_common(1):
        if 2 * count > len(values):
            return [f"most begin as {told}: only a decoder of your own (format: plugin) can read them"]
    begun = [value for value in values if value.lstrip(b" \t\r\n").startswith(b"{")]
    reasons = _whole().decode(pa.array(begun, pa.binary())).reasons
    found = Counter(reason.code for reason in reasons)
    for code, count in found.most_common(1):
        first = next(reason for reason in reasons if reason.code == code)
        return [f"{counted(count, 'record')} that begin as an object are none, the first: {first}"]
    return []


def _whole() -> Decoder:
    """Of no column that any object has."""
    return make_decoder(DecoderSpec("json", pa.schema([(f"no key {uuid4().hex}", pa.bool_())])))


_DAY, _TIME = taker(pa.date32(), "UTC"), taker(NAIVE, "UTC")
_MAY_BE_A_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(slots=True)
class DocumentShape:
    """The values seen at one place. `kinds`: boolean, whole, fraction, string, date, timestamp, object, array.

    `low` and `high`: of the whole numbers; `thousands`: all of them are whole thousands.
    `members`: of the objects. `elements`: of all arrays together.
    """

    nulls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    low: int = 0
    high: int = 0
    thousands: bool = True
    members: "dict[str, DocumentShape]" = field(default_factory=dict)
    elements: "DocumentShape | None" = None

    @property
    def filled(self) -> int:
        """Values other than null."""
        return self.kinds.total()

    def add(self, value: Any) -> None:
        if value is None:
            self.nulls += 1
            return
        kind = _kind(value)
        if kind == "whole":
            self.low = min(value, self.low) if self.kinds[kind] else value
            self.high = max(value, self.high) if self.kinds[kind] else value
            self.thousands = self.thousands and value % 1000 == 0
        elif kind == "object":
            for key, inner in value.items():
                self.members.setdefault(key, DocumentShape()).add(inner)
        elif kind == "array":
            self.elements = self.elements or DocumentShape()
            for inner in value:
                self.elements.add(inner)
        self.kinds[kind] += 1


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "whole"
        case float():
            return "fraction"
        case str():
            return kind_of_text(value)
        case dict():
            return "object"
        case _:
            return "array"


def kind_of_text(text: str) -> str:
    if _MAY_BE_A_DAY.match(text):
        for kind, take in (("date", _DAY), ("timestamp", _TIME)):
            try:
                take(text, "")
            except ValueRefusal:
                continue
            return kind
    return "string"


def united(shapes: Iterable[DocumentShape]) -> DocumentShape:
    """One shape of the values of all of them."""
    whole = DocumentShape()
    for shape in shapes:
        if shape.kinds["whole"]:
            seen = whole.kinds["whole"]
            whole.low = min(whole.low, shape.low) if seen else shape.low
            whole.high = max(whole.high, shape.high) if seen else shape.high
        whole.thousands = whole.thousands and shape.thousands
        whole.nulls += shape.nulls
        whole.kinds += shape.kinds
        inner = [s for s in (whole.elements, shape.elements) if s is not None]
        whole.elements = united(inner) if inner else None
        for key, member in shape.members.items():
            mine = whole.members.get(key)
            whole.members[key] = member if mine is None else united((mine, member))
    return whole

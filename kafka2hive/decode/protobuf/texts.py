"""Protobuf values as JSON texts: what columns with `json: text` hold of messages, arrays, maps and everything else."""

from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from kafka2hive.decode.framing.numbers import BinaryRefusal
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.cursor import ProtobufCursor, Range, small_message
from kafka2hive.decode.protobuf.payloads import Gatherer, Skip
from kafka2hive.decode.protobuf.values import LARGEST_SCALE, MOST_SECONDS, key_text
from kafka2hive.decode.values import json_spelling as spelling

LONGEST_DECIMAL = 512
"""Limit of a decimal's bytes."""

_Write = Callable[[ProtobufCursor, Sequence[Range]], str]
"""Reads the payloads of a value, the last one or all of a message, and returns its JSON. Raises BinaryRefusal."""
_Members = Sequence[tuple[str, str | None]]
"""The fields of a message with their JSON, None if they are absent."""


class JsonWriter:
    """Writes values of a plan's forms as JSON."""

    def __init__(self, forms: Sequence[plan.JsonForm], is_sorted: bool, skips: Sequence[Skip]) -> None:
        self._forms = forms
        self._is_sorted = is_sorted
        self._skips = skips
        self._writes = list(map(self._write, forms))

    def text(self, field: plan.JsonField, cursor: ProtobufCursor, places: Sequence[Range]) -> str | None:
        """Return the JSON of a field with these payloads; None if it is absent, and its presence is tracked."""
        write, slot = self._writes[field.form], field.slot
        if slot.label == "map":
            return spelling.json_object(self._entries(field, cursor, places), self._is_sorted)
        if slot.label == "repeated":
            return spelling.array(_elements(write, cursor, places))
        if places:
            return write(cursor, places)
        if slot.label == "implicit":
            return write(ProtobufCursor(slot.default, 0), [(0, len(slot.default))])
        return None

    def _entries(
        self, field: plan.JsonField, cursor: ProtobufCursor, places: Sequence[Range]
    ) -> list[tuple[str, str]]:
        """Read a map's entries; if a key repeats, the last entry wins. Refuse entries with other fields."""
        of_key, of_value = self._forms[field.form].fields
        value = replace(of_value, slot=replace(of_value.slot, label="implicit"))
        entries: dict[str, str] = {}
        for place in places:
            wires = {1: of_key.slot.wire, 2: of_value.slot.wire}
            parts = small_message(cursor, [place], wires, others=False)
            key = key_text(self._forms[of_key.form].kind, cursor, parts[1])
            try:
                entries[key] = self.text(value, cursor, parts[2]) or ""
            except BinaryRefusal as refusal:
                raise refusal.within(f".{key}") from None
        return list(entries.items())

    def _write(self, form: plan.JsonForm) -> _Write:
        match form.kind:
            case "message" | "group":
                return self._message(form)
            case "string":
                return _last(lambda cursor: spelling.quoted(cursor.text()))
            case "bytes":
                return _last(lambda cursor: spelling.octets(cursor.octets()))
            case "bool":
                return _last(lambda cursor: "true" if cursor.integer("bool") else "false")
            case "float" | "double":
                bits = 32 if form.kind == "float" else 64
                return _last(lambda cursor: spelling.real(cursor.real(bits), bits))
            case "null":
                return _last(_null)
            case "enum":
                return _last(partial(_symbol, {n: spelling.quoted(name) for n, name in form.symbols}))
        return _last(lambda cursor: str(cursor.integer(form.kind)))

    def _message(self, form: plan.JsonForm) -> _Write:
        # a slot without columns would keep only its last payload
        slots = tuple(
            replace(f.slot, columns=((0, plan.ProtobufJson(f, self._is_sorted)),)) for f in form.fields
        )
        gather = Gatherer(plan.ProtobufLevel(slots, ()), self._skips, lambda slot: f".{slot.name}")
        finish = _STYLES[form.style]

        def write(cursor: ProtobufCursor, ranges: Sequence[Range]) -> str:
            cursor.enter()
            members = []
            for field, places in zip(form.fields, gather(cursor, ranges), strict=True):
                try:
                    members.append((field.slot.name, self.text(field, cursor, places)))
                except BinaryRefusal as refusal:
                    raise refusal.within(f".{field.slot.name}") from None
            cursor.leave()
            return finish(members, self._is_sorted)

        return write


def _last(write: Callable[[ProtobufCursor], str]) -> _Write:
    """Return the function that reads every payload, and returns the last one's JSON."""

    def last(cursor: ProtobufCursor, places: Sequence[Range]) -> str:
        text = ""
        for place in places:
            cursor.go(place)
            text = write(cursor)
        return text

    return last


def _elements(write: _Write, cursor: ProtobufCursor, places: Sequence[Range]) -> list[str]:
    elements = []
    for number, place in enumerate(places):
        try:
            elements.append(write(cursor, [place]))
        except BinaryRefusal as refusal:
            raise refusal.within(f"[{number}]") from None
    return elements


def _null(cursor: ProtobufCursor) -> str:
    cursor.integer("enum")
    return "null"


def _symbol(names: dict[int, str], cursor: ProtobufCursor) -> str:
    number = cursor.integer("enum")
    return names.get(number) or str(number)


def _object(members: _Members, is_sorted: bool) -> str:
    present = [(name, text) for name, text in members if text is not None]
    return spelling.json_object(present, is_sorted)


def _single(members: _Members, is_sorted: bool) -> str:
    ((_, text),) = members
    return "null" if text is None else text


def _choice(members: _Members, is_sorted: bool) -> str:
    return next((text for _, text in members if text is not None), "null")


def _any(members: _Members, is_sorted: bool) -> str:
    (_, url), (_, value) = members
    return _object([("@type", url), ("value", value)], is_sorted)


def _timestamp(members: _Members, is_sorted: bool) -> str:
    seconds, nanos = (int(text or 0) for _, text in members)
    text = spelling.moment(seconds * spelling.NANOS + nanos, True) if 0 <= nanos < spelling.NANOS else None
    if text is None:
        raise BinaryRefusal("protobuf.range", f"a Timestamp of {seconds} s and {nanos} ns")
    return text


def _duration(members: _Members, is_sorted: bool) -> str:
    seconds, nanos = (int(text or 0) for _, text in members)
    if abs(nanos) >= spelling.NANOS or abs(seconds) > MOST_SECONDS or seconds * nanos < 0:
        raise BinaryRefusal("protobuf.range", f"a Duration of {seconds} s and {nanos} ns")
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f'"{sign}{abs(seconds)}{spelling.fraction(abs(nanos))}s"'


def _decimal(members: _Members, is_sorted: bool) -> str:
    value, _, scale_text = (text for _, text in members)
    data, scale = b64decode((value or '""')[1:-1]), int(scale_text or 0)
    if not data:
        raise BinaryRefusal("protobuf.range", "a Decimal without the bytes of a number")
    if abs(scale) > LARGEST_SCALE or len(data) > LONGEST_DECIMAL:
        raise BinaryRefusal("protobuf.range", f"a Decimal of {len(data)} bytes and scale {scale}")
    return spelling.decimal(int.from_bytes(data, "big", signed=True), scale)


_STYLES: dict[str, Callable[[_Members, bool], str]] = {
    "object": _object,
    "single": _single,
    "choice": _choice,
    "any": _any,
    "timestamp": _timestamp,
    "duration": _duration,
    "decimal": _decimal,
}

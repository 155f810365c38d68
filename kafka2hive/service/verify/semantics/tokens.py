"""The values in a JSON text with the characters that they have in it, found by Python's own parser."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")


class Numeral(str):
    """The characters of a number."""


class MemberList(list[tuple[str, Any]]):
    """The members of an object in their order."""


_DECODER = json.JSONDecoder(
    parse_int=Numeral, parse_float=Numeral, parse_constant=Numeral, object_pairs_hook=MemberList
)


@dataclass(frozen=True, slots=True)
class Token:
    """A value: its characters, and what they mean. Numbers are Numerals, objects are MemberList."""

    text: str
    value: Any

    def at(self, keys: tuple[str, ...]) -> "Token":
        """Return the value at a path; null if there is none. Raises ValueError if the text is damaged."""
        token = self
        for key in keys:
            token = token.members().get(key, NULL)
        return token

    def members(self) -> Mapping[str, "Token"]:
        """Return the members of an object; none of another value."""
        if not isinstance(self.value, MemberList):
            return {}
        found = {}
        at = _past_blank(self.text, 1)
        while self.text[at] != "}":
            key, at = _DECODER.raw_decode(self.text, at)
            begin = _past_blank(self.text, _past_blank(self.text, at) + 1)
            value, end = _DECODER.raw_decode(self.text, begin)
            found[key] = Token(self.text[begin:end], value)
            at = _past_blank(self.text, end)
            at = _past_blank(self.text, at + 1) if self.text[at] == "," else at
        return found


NULL = Token("null", None)


def token_of(message: bytes) -> Token:
    """Return the object of a message. Raises ValueError if it is none."""
    text = message.decode().strip(" \t\r\n")
    value = _DECODER.decode(text)
    if not isinstance(value, MemberList):
        raise ValueError("no object")
    return Token(text, value)


def canonical(value: Any) -> str:
    """Return the text of a value without white space, with sorted keys and the characters of its numbers."""
    match value:
        case Numeral():
            return str(value)
        case MemberList():
            inner = sorted(value, key=lambda member: member[0])
            return "{" + ",".join(f"{canonical(key)}:{canonical(one)}" for key, one in inner) + "}"
        case list():
            return "[" + ",".join(map(canonical, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _past_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None, "it matches the empty text"
    return match.end()

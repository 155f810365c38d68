"""Damage: bytes flipped, cut, doubled and moved; and JSON changed where it hurts, by its structure."""

import random
from collections.abc import Sequence
from functools import cache

import orjson

from tests.contract.decode_cases import CASES_OF_TYPE

SPECIAL = b'{}[]",:\\/ntu0129.-+eE \t\n\r\x00\x7f\xff\xc3\xed\xa0NI'
TEXTS = sorted({text for cases in CASES_OF_TYPE.values() for text, _ in cases if len(text) < 200})
"""JSON texts of values near the edges of some column type."""


def damaged(dice: random.Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """`data` with one to four changes, as cables, bugs and people make them; `others` lend parts of themselves."""
    raw = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        size = len(raw)
        at = dice.randrange(size + 1)
        to = min(size, at + dice.choice((1, 1, 2, 3, 8, 40)))
        match dice.randrange(9):
            case 0:
                del raw[at:to]
            case 1:
                raw[at:at] = bytes([dice.choice(SPECIAL)])
            case 2 if at < size:
                raw[at] ^= 1 << dice.randrange(8)
            case 3 if at < size:
                raw[at] = dice.randrange(256)
            case 4:
                raw = raw[:at]
            case 5:
                raw[at:at] = raw[at:to] * dice.choice((1, 1, 2, 50))
            case 6:
                start = dice.randrange(size + 1)
                raw[at:to], raw[start : start + to - at] = raw[start : start + to - at], raw[at:to]
            case 7 if others:
                other = dice.choice(others)
                start = dice.randrange(len(other) + 1)
                raw[at:to] = other[start : start + dice.choice((1, 5, 40, len(other)))]
            case _:
                raw[at:at] = dice.choice(TEXTS).encode("utf-8", "surrogatepass")
    return bytes(raw)


def restructured(dice: random.Random, record: bytes) -> bytes:
    """A good record's JSON text with members swapped, renamed, doubled, dropped, nested, or with values of other kinds.

    Mostly valid JSON, so that it comes past the syntax and meets the columns' types.
    """
    members = list(_members(record))
    for _ in range(dice.randint(1, 3)):
        if not members:
            break
        at = dice.randrange(len(members))
        name, value = members[at]
        other = dice.randrange(len(members))
        match dice.randrange(9):
            case 0:
                members[at], members[other] = (name, members[other][1]), (members[other][0], value)
            case 1:
                members.append((name, dice.choice((value, *TEXTS))))
            case 2:
                del members[at]
            case 3:
                members[at] = (name, dice.choice(TEXTS))
            case 4:
                members[at] = (name, _nested(dice, value))
            case 5:
                members[at] = (_escaped(name), value)
            case 6:
                dice.shuffle(members)
            case 7:
                members[at] = (name, _respelled(dice, value))
            case _:
                members.append(
                    (dice.choice(('"other"', '""', '"\\u0000"', name.upper())), dice.choice(TEXTS))
                )
    gap = dice.choice(("", "", " ", "\n", "\t "))
    return ("{" + f",{gap}".join(f"{n}:{gap}{v}" for n, v in members) + "}").encode("utf-8", "surrogatepass")


@cache
def _members(record: bytes) -> tuple[tuple[str, str], ...]:
    """Names and values as JSON texts; kept, because the same few good records are damaged again and again."""
    values: dict[str, object] = orjson.loads(record)
    return tuple(
        (orjson.dumps(name).decode(), orjson.dumps(value).decode()) for name, value in values.items()
    )


def _nested(dice: random.Random, value: str) -> str:
    depth = dice.choice((1, 1, 2, 62, 63, 64, 65, 1000))
    return "[" * depth + value + "]" * depth if dice.random() < 0.5 else '{"k":' * depth + value + "}" * depth


def _escaped(name: str) -> str:
    """The same name to a reader, other bytes."""
    return '"' + "".join(f"\\u{ord(letter):04x}" for letter in name.strip('"')) + '"'


def _respelled(dice: random.Random, value: str) -> str:
    """A number in another notation, a text with other escapes, or a number as a text and the other way round."""
    if value.startswith('"'):
        return dice.choice((value[1:-1] or "0", _escaped(value), value.replace("e", "\\u0065"), value + " "))
    tail = dice.choice((".0", "e0", "E+2", "e-400", "e400", "0" * 40, ".5", "e99999", "_0", "n"))
    return dice.choice((value + tail, f'"{value}"', "-" + value, "+" + value, "0" + value))

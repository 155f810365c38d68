"""How deep a message nests is found without a parser, also where many brackets stand side by side or in strings."""

import random

import pytest

from kafka2hive.decode.values.json_values import deeper_than

LIMIT = 4


def opened(message: bytes) -> int:
    """The most objects and arrays open at once, up to what closes without having been opened."""
    depth = deepest = 0
    in_string = escaped = False
    for character in message.decode():
        if in_string:
            in_string, escaped = escaped or character != '"', character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
            if depth < 0:
                break
    return deepest


@pytest.mark.parametrize(
    ("message", "deeper"),
    [
        (b"[" * LIMIT + b"]" * LIMIT, False),
        (b"[" * (LIMIT + 1) + b"]" * (LIMIT + 1), True),
        (b'{"a":' * LIMIT + b"0", False),
        (b'{"a":' * (LIMIT + 1) + b"0", True),
        (b"[" + b"[]," * 100 + b"{}]", False),
        (b'["' + b"[{" * 100 + b'"]', False),
        (b'["\\"' + b"[{" * 100 + b'"]', False),
        (b'["\\\\",' + b"[" * LIMIT + b"]" * LIMIT + b"]", True),
        (b"]" + b"[" * 100, False),
        (b"", False),
    ],
)
def test_what_nests_deeper_than_the_limit_is_told_from_what_is_only_long(
    message: bytes, deeper: bool
) -> None:
    assert deeper_than(message, LIMIT) is deeper is (opened(message) > LIMIT)


def test_any_order_of_brackets_and_quotes_is_judged_as_by_counting_character_by_character() -> None:
    dice = random.Random(0)
    deep = 0
    for _ in range(3_000):
        pieces = dice.choices(
            ["[", "{", "]", "}", '"', '"x"', "0"], [5, 5, 3, 3, 1, 3, 3], k=dice.randrange(30)
        )
        message = "".join(pieces).encode()
        assert deeper_than(message, LIMIT) is (opened(message) > LIMIT), message
        deep += opened(message) > LIMIT
    assert 300 < deep < 2_700

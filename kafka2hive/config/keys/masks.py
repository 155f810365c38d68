"""Masks of columns: their keys, their values, and the files with the keys of `hmac`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.keys.declaration import Key

FINGERPRINT = r"k[0-9a-f]{8}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialMask:
    """Which characters of a text stay; each other character becomes `*`. A text of no more characters is hidden whole."""

    first: Annotated[int, Key("How many of the first characters stay.", at_least=0)] = 0
    last: Annotated[int, Key("How many of the last characters stay.", at_least=0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskKeys:
    """A mask with more keys than its name."""

    partial: Annotated[
        PartialMask, Key("Only the first or last characters stay.", written="section", example="{last: 4}")
    ]


@dataclass(frozen=True, slots=True)
class Mask:
    """What a column has instead of the record's value. `first` and `last` are the characters that `partial` keeps.

    `hash`: SHA-256 of the UTF-8 text, `hmac`: HMAC-SHA256 with the first of the map's `mask_keys`, both in hexadecimal;
    `drop`: NULL. NULL stays NULL.
    """

    kind: Literal["hash", "hmac", "partial", "drop"]
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskKeyFile:
    """A file with a key of `hmac`, which only the service's user may read. The key is never in the map."""

    file: Annotated[
        str,
        Key(
            "The file, of at least 16 bytes; a line break at its end does not count.",
            written="local path",
            shortest=1,
        ),
    ]
    fingerprint: Annotated[
        str | None,
        Key(
            "The fingerprint of the key; `validate` tells it. Another key in the file is refused.",
            otherwise="none: refused, with the right one",
            pattern=FINGERPRINT,
            expected="expected k and eight hexadecimal digits, as `validate` tells them",
        ),
    ] = None


LetterPayload = Literal["keep", "hash", "drop"]
"""What a dead letter of a table with masks holds of its record's key, value and headers."""


def mask_of(keys: Literal["hash", "hmac", "drop"] | MaskKeys | None) -> Mask | None:
    """Return the mask that the map declares."""
    match keys:
        case None:
            return None
        case MaskKeys(partial=partial):
            return Mask("partial", partial.first, partial.last)
        case _:
            return Mask(keys)

"""The masks that the audit makes of texts for itself: SHA-256 and HMAC by their definitions, and characters in a loop."""

import hashlib
from collections.abc import Sequence

from kafka2hive.config.keys.masks import Mask

_BLOCK = 64
"""The block of SHA-256 in bytes."""


def is_judged(mask: Mask, keys: Sequence[bytes]) -> bool:
    """Return whether the mask of a text is known: not if one of several keys has made it, nor if nothing is left of it."""
    return mask.kind != "drop" and (mask.kind != "hmac" or len(keys) == 1)


def masked(text: str, mask: Mask, keys: Sequence[bytes]) -> str:
    """Return the mask of a text; `mask` must be one that is judged."""
    match mask.kind:
        case "hash":
            return hashlib.sha256(text.encode()).hexdigest()
        case "hmac":
            return _hmac(keys[0], text.encode())
        case _:
            is_shown = len(text) > mask.first + mask.last
            return "".join(
                character if is_shown and (at < mask.first or at >= len(text) - mask.last) else "*"
                for at, character in enumerate(text)
            )


def _hmac(key: bytes, data: bytes) -> str:
    """Return HMAC-SHA256 as RFC 2104 defines it."""
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + data).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).hexdigest()

"""The principals of a keytab (MIT's file format, version 2): who a service can log in as. Keys are skipped, never kept."""

import struct
from collections.abc import Iterator

_VERSION = b"\x05\x02"


class NoKeytab(ValueError):
    """The bytes are no keytab of version 2, or end in the middle of an entry."""


def principals(content: bytes) -> frozenset[str]:
    """As `kinit` takes them, `name/host@REALM`. Raises NoKeytab."""
    if content[:2] != _VERSION:
        raise NoKeytab("does not begin as a keytab")
    try:
        return frozenset(_principal(entry) for entry in _entries(content))
    except (struct.error, UnicodeDecodeError) as error:
        raise NoKeytab("is damaged") from error


def _entries(content: bytes) -> Iterator[bytes]:
    """Each begins with its length; a negative one is a hole that a deleted entry left."""
    at = len(_VERSION)
    while at < len(content):
        (length,) = struct.unpack_from(">i", content, at)
        at += 4
        if length == 0:
            return
        if at + abs(length) > len(content):
            raise NoKeytab("is cut off")
        if length > 0:
            yield content[at : at + length]
        at += abs(length)


def _principal(entry: bytes) -> str:
    """A count of name parts, the realm, the parts; each text begins with its length."""
    (count,) = struct.unpack_from(">H", entry)
    texts, at = [], 2
    for _ in range(count + 1):
        (length,) = struct.unpack_from(">H", entry, at)
        text = entry[at + 2 : at + 2 + length]
        if len(text) < length:
            raise NoKeytab("is cut off")
        texts.append(text.decode())
        at += 2 + length
    realm, *parts = texts
    return f"{'/'.join(parts)}@{realm}"

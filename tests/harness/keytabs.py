"""Keytab files written by hand, so that tests of the map need no Kerberos tools."""

import struct


def keytab(*principals: str, hole: bytes = b"") -> bytes:
    """One entry a principal, with a key of zeros; `hole`: a deleted entry before them."""
    content = b"\x05\x02" + (struct.pack(">i", -len(hole)) + hole if hole else b"")
    for principal in principals:
        name, _, realm = principal.partition("@")
        parts = name.split("/")
        entry = struct.pack(">H", len(parts)) + b"".join(map(_text, (realm, *parts)))
        entry += struct.pack(">IIBHH", 1, 1_763_000_000, 2, 18, 32) + bytes(32) + struct.pack(">I", 2)
        content += struct.pack(">i", len(entry)) + entry
    return content


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()

"""Numbers as people read them, and other people's text made safe for a terminal or a log."""

import re
import time


def counted(number: int, noun: str) -> str:
    """`1 file`, `3 files`, `120,000 records`; nouns ending in y become -ies."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def size(count: float) -> str:
    """Bytes in decimal units: `999 B`, `26.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """`2.4 s`, `3 min`, `5.0 h`, `2.1 d`."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} d"


def utc_text(seconds: float) -> str:
    """The whole second of a Unix time in UTC, as the ledger writes times: `2026-11-21T07:48:44Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


# What a terminal obeys or what reorders text: C0 but line feed and tab, DEL, C1, bidirectional overrides and isolates,
# line and paragraph separators.
_COMMANDS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_COMMAND = re.compile(f"[{_COMMANDS}]")
# Colours as our own screens write them, and bold, dim, italic, underlined; none that hides.
_COLOURED = re.compile(rf"(\x1b\[(?:(?:0|[1-4]|2[2-4]|3[1-79]|9[1-7]);?)*m)|[{_COMMANDS}]")


def printable(text: str) -> str:
    r"""Return the text with control characters written out, e.g. as `\x1b`."""
    return _COMMAND.sub(_written_out, text)


def printable_coloured(text: str) -> str:
    """Return the text like `printable`, but keep colour sequences."""
    return _COLOURED.sub(lambda found: found[1] or _written_out(found), text)


def printable_json(text: str) -> str:
    r"""JSON text with the same characters as `\u009b`: within strings, where alone they can stand, that means the same."""
    return _COMMAND.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

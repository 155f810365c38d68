"""Text of others (records, brokers, files) for a terminal or a log: it moves no cursor, hides nothing, begins no line."""

import re

# What a terminal obeys or what reorders text: C0 but line feed and tab, DEL, C1, bidirectional overrides and isolates,
# line and paragraph separators.
_COMMANDS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_COMMAND = re.compile(f"[{_COMMANDS}]")
# Colours as our own screens write them, and bold, dim, italic, underlined; none that hides.
_COLOURED = re.compile(rf"(\x1b\[(?:(?:0|[1-4]|2[2-4]|3[1-79]|9[1-7]);?)*m)|[{_COMMANDS}]")


def printable(text: str) -> str:
    r"""With `\x1b` and the like written out."""
    return _COMMAND.sub(_written_out, text)


def printable_coloured(text: str) -> str:
    """The same, but for colours."""
    return _COLOURED.sub(lambda found: found[1] or _written_out(found), text)


def printable_json(text: str) -> str:
    r"""JSON text with the same characters as `\u009b`: within strings, where alone they can stand, that means the same."""
    return _COMMAND.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

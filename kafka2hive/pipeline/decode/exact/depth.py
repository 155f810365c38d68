"""How deep a message nests, found without a parser, so that no parser meets a message that nests too deep."""

import re

MAX_DEPTH = 64
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_NOT_STRUCTURE = bytes(b for b in range(256) if b not in b'"{}[]')
_ONE_BRACKET = bytes.maketrans(b"[]", b"{}")


def deeper_than(message: bytes, limit: int) -> bool:
    """Whether more than `limit` objects and arrays are open at once, as far as the message is JSON."""
    if message.count(b"{") + message.count(b"[") <= limit:
        return False  # too few for that, wherever they stand
    if b"\\" in message:
        message = _ESCAPE.sub(b"", message)
    outside_strings = message.translate(None, _NOT_STRUCTURE).split(b'"')[::2]
    brackets = b"".join(outside_strings).translate(_ONE_BRACKET)
    left = brackets
    for _ in range(limit):  # each round takes the innermost level away
        left = left.replace(b"{}", b"")
        if not left:
            return False
    depth = 0  # too deep, or not closed: count
    for bracket in brackets:
        depth += 1 if bracket == ord("{") else -1
        if depth < 0:
            return False  # closes what was never opened: a syntax error, and the parser stops here
        if depth > limit:
            return True
    return False

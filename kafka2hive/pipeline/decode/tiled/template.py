"""The fixed text of messages that one serializer wrote: `{"a": ` value `, "b": ` value `}`.

A template is read off one message. Whether others follow it is for tiling.py to prove, byte by byte.
"""

import re
from dataclasses import dataclass

_MEMBER = re.compile(
    rb'[ \t]*([{,])[ \t]*"([^"\\\x00-\x1f]*)"[ \t]*:[ \t]*'
    rb'("[^"\\\x00-\x1f]*"|true|false|null|-?[0-9][-+.eE0-9]*)'
)
_END = re.compile(rb"[ \t]*\}[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class Member:
    """`prefix` is all text between the values, from the end of the one before (or the message's beginning)."""

    name: str
    prefix: bytes


@dataclass(frozen=True, slots=True)
class Template:
    """Members in their order, names distinct; `suffix` is the text behind the last value."""

    members: tuple[Member, ...]
    suffix: bytes


def template_of(message: bytes, most_members: int) -> Template | None:
    """The template of a flat object without escapes, on one line; None for any other message."""
    members: list[Member] = []
    at = 0
    while (match := _MEMBER.match(message, at)) is not None:
        if (match[1] == b"{") != (not members):
            return None
        if len(members) == most_members:
            return None
        members.append(Member(match[2].decode(), message[at : match.start(3)]))
        at = match.end()
    end = _END.match(message, at)
    names = {member.name for member in members}
    if end is None or not members or len(names) != len(members):
        return None
    return Template(tuple(members), message[at:])

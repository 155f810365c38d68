"""Numbers and times for people, and foreign text that is safe for a terminal or a log."""

import re
import time
from datetime import UTC, datetime

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
"""Characters that a terminal obeys or that reorder text: C0 except line feed and tab, DEL, C1, separators of lines and
paragraphs, bidirectional overrides and isolates.
"""
_CONTROL = re.compile(f"[{_CONTROLS}]")
_COLOUR_OR_CONTROL = re.compile(rf"(\x1b\[(?:(?:0|[1-4]|2[2-4]|3[1-79]|9[1-7]);?)*m)|[{_CONTROLS}]")
"""The first group matches colours, bold, dim, italic and underlined, but nothing that hides text."""

_COMMAND_OR_TIME = re.compile(r"`[^`]*`|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z(?! \()")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `3 files`, `120,000 records`, `2 entries`, `2 days`."""
    plural = f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def size(count: float) -> str:
    """Return a number of bytes in decimal units: `999 B`, `26.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """Return a duration as `2.4 s`, `3 min`, `5.0 h` or `2.1 d`."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} d"


def utc_text(seconds: float) -> str:
    """Return a Unix time in UTC without fractions, as the ledger writes times: `2026-11-21T07:48:44Z`."""
    at = time.gmtime(seconds)
    return f"{at.tm_year:04}{time.strftime('-%m-%dT%H:%M:%SZ', at)}"


def with_local_times(text: str) -> str:
    """Add the local time to each time in UTC, unless both are the same: `2026-11-21T07:48:44Z (08:48:44 CET)`.

    Commands in backquotes are left as they are. A second call changes nothing.
    """
    return _COMMAND_OR_TIME.sub(lambda match: match[0] + _local(match[0]), text)


def _local(written_at: str) -> str:
    """Return ` (08:48:44 CET)`, with the date if it differs; empty if the text is no time or the local time is UTC."""
    seconds = unix_seconds(written_at)
    if seconds is None:
        return ""
    local, day = time.localtime(seconds), time.gmtime(seconds).tm_yday
    form = "%H:%M:%S %Z" if local.tm_yday == day else "%Y-%m-%d %H:%M:%S %Z"
    return f" ({time.strftime(form, local)})" if local.tm_gmtoff else ""


def unix_seconds(written_at: str) -> float | None:
    """Return an ISO 8601 time in Unix seconds; a time without a zone is UTC. None if the text is not such a time."""
    try:
        moment = datetime.fromisoformat(written_at)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def ago(written_at: str, now: float) -> str:
    """Return the age of an ISO 8601 time as `3 min ago`; any other text is returned unchanged. `now`: Unix seconds."""
    moment = unix_seconds(written_at)
    return written_at if moment is None else f"{duration(max(now - moment, 0))} ago"


def printable(text: str) -> str:
    r"""Return the text with control characters escaped, e.g. as `\x1b`."""
    return _CONTROL.sub(_escape, text)


def printable_coloured(text: str) -> str:
    """Return the text like `printable`, but keep colour sequences."""
    return _COLOUR_OR_CONTROL.sub(lambda match: match[1] or _escape(match), text)


def printable_json(text: str) -> str:
    r"""Return equivalent JSON text with control characters escaped as `\u009b`; they can occur only within strings."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

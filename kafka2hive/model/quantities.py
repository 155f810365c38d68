"""Numbers as people read them: counts with their noun, bytes with a unit, durations, times."""

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

"""Sizes, durations and hours of the day as people write them: `128MB`, `1GiB`, `500ms`, `5m`, `01:00-06:00`."""

import math
import re
from dataclasses import dataclass

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|[kKMGT]i?B)")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "kiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
MIB = _SIZE_UNITS["MiB"]
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

SIZE_PATTERN = rf"^{_SIZE.pattern}$"
DURATION_PATTERN = rf"^{_DURATION.pattern}$"
WINDOW_PATTERN = rf"^{_WINDOW.pattern}$"


@dataclass(frozen=True, slots=True)
class Window:
    """A part of each day, in minutes after midnight, from `begin` to before `end`; it crosses midnight if `end` is earlier."""

    begin: int
    end: int

    def has(self, minute: int) -> bool:
        if self.begin < self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


def parse_size(text: object) -> int:
    """Return the bytes of `128MB` (powers of 1000), `128MiB` (powers of 1024) or a whole number. Raises ValueError."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if not match:
        raise ValueError("expected a size such as 128MiB, 500MB or 1GiB")
    return int(_finite(match[1]) * _SIZE_UNITS[match[2]])


def parse_duration(text: object) -> float:
    """Return the seconds of `500ms`, `60s`, `5m`, `1h` or `1d`. Raises ValueError, also for a number without a unit."""
    match = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    if not match:
        raise ValueError("expected a duration with its unit, such as 500ms, 60s, 5m, 1h or 1d")
    return _finite(match[1]) * _SECONDS[match[2]]


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("the number is too large")
    return number


def size_text(size: int) -> str:
    """Return a size as it is written in a map, in the largest unit that divides it: `512MiB`."""
    unit = next(name for name in ("TiB", "GiB", "MiB", "KiB", "B") if size % _SIZE_UNITS[name] == 0)
    return f"{size // _SIZE_UNITS[unit]}{unit}"


def duration_text(seconds: float) -> str:
    """Return a duration as it is written in a map: `60s`."""
    return f"{seconds:g}s"


def parse_window(text: object) -> Window:
    """Return the window of `01:00-06:00`. Raises ValueError, also if both times are the same."""
    match = _WINDOW.fullmatch(text.strip()) if isinstance(text, str) else None
    if not match:
        raise ValueError("expected a part of the day such as 01:00-06:00, with two digits each")
    begin, end = (int(hour) * 60 + int(minute) for hour, minute in (match.group(1, 2), match.group(3, 4)))
    if begin == end:
        raise ValueError("begin and end must differ; leave the key out for any time")
    return Window(begin, end)


def window_text(window: Window) -> str:
    """Return a window as it is written in a map: `01:00-06:00`."""
    return "-".join(f"{at // 60:02d}:{at % 60:02d}" for at in (window.begin, window.end))

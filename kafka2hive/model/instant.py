"""Instants as whole numbers: the one notation in which times of periods are compared.

The ledger writes instants as text (`2026-11-21T07:48:44Z`). Text must not be compared, because the year 10000 sorts before
2026, and `datetime` must not be used, because it ends with the year 9999, which is midnight UTC of its last day for zones
west of UTC. Everything here accepts any year.
"""

import datetime
import re
from typing import Final

NEVER: Final = -(1 << 62)
"""Earlier than every instant; of a text that names no instant, such as UNKNOWN_TIME."""

_TEXT = re.compile(r"(-?[0-9]{3,})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
"""The Gregorian calendar, its weekdays and the rules of time zones repeat after so many years."""
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_DAY_SECONDS = 86_400


def instant_seconds(text: str) -> int:
    """Return the Unix time of an instant as the ledger writes it (`utc_text`), NEVER for any other text."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return NEVER
    year, month, day, hour, minute, second = map(int, match.groups())
    cycles, year = divmod(year, _CYCLE_YEARS)
    try:
        date = datetime.date(year + _CYCLE_YEARS, month, day)
        datetime.time(hour, minute, second)
    except ValueError:
        return NEVER
    days = date.toordinal() - _EPOCH_DAY + (cycles - 1) * _CYCLE_DAYS
    return days * _DAY_SECONDS + hour * 3600 + minute * 60 + second


def last_end_over(through: int, delay: float, *, per_second: int = 1) -> int:
    """Return the latest end of a period that is over: at `through`, its `delay` (seconds) has passed.

    This is what `completion.delay` means, wherever it decides: a period is over if it ended at or before the result.
    `through` and the result count `per_second` units per second.
    """
    return through - round(delay * per_second)


def as_datetime(seconds: int) -> datetime.datetime:
    """Return an instant for a plug-in; instants beyond the range of `datetime` become its first or last second."""
    first = datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)
    last = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)
    since_first = seconds - instant_seconds("0001-01-01T00:00:00Z")
    span = int((last - first).total_seconds())
    return first + datetime.timedelta(seconds=min(max(since_first, 0), span))


def in_range(year: int) -> tuple[int, int]:
    """Return an equivalent year in the middle of the range of `datetime`, and by how many seconds it is earlier.

    Both years have the same calendar, weekdays and, for years after 2037, the same rules of time zones.
    """
    cycles = max((year - 9000) // _CYCLE_YEARS, 0)
    return year - cycles * _CYCLE_YEARS, cycles * _CYCLE_DAYS * _DAY_SECONDS

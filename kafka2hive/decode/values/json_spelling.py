"""The spelling of values in JSON texts: what columns with `json: text` hold of binary formats (docs/decoding.md).

native/src/spelling.rs spells in the same way.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from datetime import date
from math import isinf, isnan

import numpy as np

NANOS = 10**9
DAY_NANOS = 86_400 * NANOS
_UNIX_DAY = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - _UNIX_DAY, date.max.toordinal() - _UNIX_DAY


def quoted(text: str) -> str:
    """Return the text as a JSON string, with no more escapes than JSON requires."""
    return json.dumps(text, ensure_ascii=False)


def octets(data: bytes) -> str:
    """Return bytes as a JSON string of base64."""
    return f'"{b64encode(data).decode()}"'


def real(number: float, bits: int) -> str:
    """Return a float or double (`bits` 32 or 64) with the fewest digits that are read back as the same number."""
    if isnan(number):
        return '"NaN"'
    if isinf(number):
        return '"Infinity"' if number > 0 else '"-Infinity"'
    if bits == 64:
        return repr(number)
    mantissa, exponent = np.format_float_scientific(np.float32(number), unique=True, trim="-").split("e")
    digits = mantissa.lstrip("-").replace(".", "")
    sign = "-" if mantissa.startswith("-") else ""
    return sign + _laid_out(digits, int(exponent) + 1)


def _laid_out(digits: str, point: int) -> str:
    """Return 0.DIGITS * 10**point as Python writes a float."""
    if not -4 < point <= 16:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{fraction}e{point - 1:+03d}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"


def decimal(unscaled: int, scale: int) -> str:
    """Return unscaled / 10**scale with all digits of its scale."""
    sign = "-" if unscaled < 0 else ""
    if scale <= 0:
        return f"{sign}{abs(unscaled) * 10**-scale}"
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def day(days: int) -> str | None:
    """Return the day as a JSON string; None outside the years 1 to 9999."""
    return f'"{date.fromordinal(days + _UNIX_DAY).isoformat()}"' if _FIRST_DAY <= days <= _LAST_DAY else None


def clock(nanos: int) -> str | None:
    """Return the time of day as a JSON string; None beyond a day."""
    return f'"{_time(nanos)}"' if 0 <= nanos < DAY_NANOS else None


def moment(nanos: int, is_instant: bool) -> str | None:
    """Return the time since 1970 as a JSON string, an instant in UTC; None outside the years 1 to 9999."""
    days, rest = divmod(nanos, DAY_NANOS)
    text = day(days)
    return None if text is None else f'{text[:-1]}T{_time(rest)}{"Z" if is_instant else ""}"'


def fraction(nanos: int) -> str:
    """Return a point and the nanoseconds of a second in 3, 6 or 9 digits, as few as are exact; nothing for 0."""
    if not nanos:
        return ""
    digits = 3 if nanos % 10**6 == 0 else 6 if nanos % 1000 == 0 else 9
    return f".{nanos:09d}"[: digits + 1]


def _time(nanos: int) -> str:
    seconds, rest = divmod(nanos, NANOS)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction(rest)}"


def json_object(members: Sequence[tuple[str, str]], is_sorted: bool) -> str:
    """Return the object with these keys and spelled values, whose keys are distinct."""
    ordered = sorted(members) if is_sorted else members
    return "{" + ",".join(f"{quoted(key)}:{value}" for key, value in ordered) + "}"


def array(elements: Sequence[str]) -> str:
    """Return the array of spelled values."""
    return f"[{','.join(elements)}]"


def of_column(spelled: str) -> str | None:
    """Return what a column of strings holds of a spelled value: a string without quotes, NULL for null."""
    if spelled == "null":
        return None
    return str(json.loads(spelled)) if spelled.startswith('"') else spelled

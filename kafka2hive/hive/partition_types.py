"""Whether a partition column of Hive can hold the values that a bucket path makes. Pure."""

import datetime
import re
from collections.abc import Mapping

_TEXT = re.compile(r"string|(var)?char(\(\d+\))?")
_LARGEST = {"tinyint": 2**7 - 1, "smallint": 2**15 - 1, "int": 2**31 - 1, "bigint": 2**63 - 1}
_LATE = datetime.datetime(2099, 12, 31, 23, 59)


def can_hold(hive_type: str, template: str, columns: Mapping[str, str]) -> bool:
    """`template` is the value of one level of a bucket path, `columns` the types of the map's columns by lower-case name.

    Text holds everything, a date only `%Y-%m-%d`, an integer only digits that it has room for; both also hold a column
    of their own type. Hive refuses a value of another form, or reads it as another one.
    """
    if _TEXT.fullmatch(hive_type):
        return True
    if hive_type not in _LARGEST and hive_type != "date":
        return False
    if "{" in template:
        return template[0] == "{" and columns.get(template[1:-1].lower()) == hive_type
    value = _LATE.strftime(template)
    if hive_type == "date":
        return value == f"{_LATE:%Y-%m-%d}"
    return re.fullmatch("[0-9]+", value) is not None and int(value) <= _LARGEST[hive_type]

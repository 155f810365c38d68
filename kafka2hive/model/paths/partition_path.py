"""Build and parse a Hive partition's path below its table: `dt=2013-01-01/hr=05`."""

import re

HIVE_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_HIVE_ESCAPED = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{}\[\]^]")


def escape_partition_value(value: str) -> str:
    """Return the value as Hive writes it in a path (FileUtils.escapePathName); the default partition for an empty one."""
    if value == "":
        return HIVE_DEFAULT_PARTITION
    return _HIVE_ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", value)


def unescape_partition_value(text: str) -> str:
    """Return the value of a path's text: the inverse of escape_partition_value for values that are not empty."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)


def partition_path(values: tuple[tuple[str, str], ...]) -> str:
    """Return the path of partition values: `dt=2013-01-01/hr=05` for `(("dt", "2013-01-01"), ("hr", "05"))`."""
    return "/".join(f"{name}={escape_partition_value(value)}" for name, value in values)


def parse_partition_path(path: str) -> tuple[tuple[str, str], ...]:
    """Return the partition values of a path: the inverse of partition_path; the default partition has the empty value."""
    pairs = []
    for part in path.split("/") if path else []:
        name, _, value = part.partition("=")
        pairs.append((name, "" if value == HIVE_DEFAULT_PARTITION else unescape_partition_value(value)))
    return tuple(pairs)

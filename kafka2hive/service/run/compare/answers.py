"""What Hive says to a table of the map, as values."""

from dataclasses import dataclass

from kafka2hive.model.errors import TableError


@dataclass(frozen=True, slots=True)
class Agrees:
    """Hive's table is the one of the map; not `there`: Hive has none, and one may be made."""

    there: bool = True


@dataclass(frozen=True, slots=True)
class Differs:
    """Nothing may be committed to it: why, and what to do."""

    error: TableError


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Hive is away, or has not answered yet."""

    why: str


Answer = Agrees | Differs | NoAnswer

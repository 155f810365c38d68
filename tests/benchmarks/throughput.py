"""Everybody dumps the same topics, in turns, several times; every output is read and compared with the input.

The marginal speed is (MB of the large topic - MB of the small one) / (CPU seconds of the large - of the small), so that
start-up cancels; the difference is taken within a round, as a machine's speed drifts, and its median counts. Broker and
HDFS are left out, all else a program starts is in.
"""

import base64
import datetime
import decimal
import os
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
import pyarrow as pa

from kafka2hive.model.hive_types import parse_hive_type
from tests.benchmarks.aims import Rows, say
from tests.benchmarks.contestants import CONTESTANTS, OURS, Contestant, Place, environment
from tests.benchmarks.data.content import Content, expected
from tests.benchmarks.data.data_sets import DataSet
from tests.benchmarks.data.topics import FilledTopic, fill
from tests.benchmarks.process_tree import Cost, measured
from tests.benchmarks.room import Room
from tests.benchmarks.verdict import add_rows
from tests.oracle.tree import HdfsTree, LocalTree, Tree


class WrongOutput(Exception):
    """A contestant wrote something else than the topic holds: its speed means nothing."""


@dataclass(slots=True)
class Comparison:
    """The costs of all rounds by contestant and copies, and what the files of the last round weigh."""

    data: DataSet
    compression: str = "none"
    topics: dict[int, FilledTopic] = field(default_factory=dict)
    costs: dict[tuple[str, int], list[Cost]] = field(default_factory=dict)
    contents: dict[tuple[str, int], Content] = field(default_factory=dict)

    def median(self, name: str, copies: int, figure: str) -> float:
        """Median of `wall`, `cpu` or `peak_mb`."""
        return float(statistics.median(getattr(cost, figure) for cost in self.costs[name, copies]))

    def marginal(self, name: str) -> float | None:
        """MB per CPU-second between smallest and largest topic; None with one size, or where noise ate it."""
        sizes = sorted(copies for who, copies in self.costs if who == name)
        if len(sizes) < 2:
            return None
        low, high = sizes[0], sizes[-1]
        rounds = zip(self.costs[name, low], self.costs[name, high], strict=False)
        cpu = statistics.median(large.cpu - small.cpu for small, large in rounds)
        return (self.topics[high].megabytes - self.topics[low].megabytes) / cpu if cpu > 0 else None

    def document(self) -> dict[str, Any]:
        """The figures as JSON values."""
        contestants = {}
        for name in dict.fromkeys(who for who, _ in self.costs):
            marginal = self.marginal(name)
            mean_bytes = statistics.mean(map(len, self.data.records()))
            contestants[name] = {
                "label": CONTESTANTS[name].label,
                "marginal_mb_per_cpu_second": _rounded(marginal),
                "marginal_records_per_cpu_second": marginal and round(marginal * 1e6 / mean_bytes),
                "sizes": {
                    str(copies): {
                        "wall_seconds": round(self.median(name, copies, "wall"), 2),
                        "cpu_seconds": round(self.median(name, copies, "cpu"), 2),
                        "peak_mb": round(self.median(name, copies, "peak_mb"), 1),
                        **{k: v for k, v in asdict(self.contents[name, copies]).items() if k != "checksum"},
                        "rounds": [
                            {k: round(v, 2) for k, v in asdict(cost).items()}
                            for cost in self.costs[name, copies]
                        ],
                    }
                    for who, copies in self.costs
                    if who == name
                },
            }
        return {
            "compression": self.compression,
            "topics": {
                str(copies): {"records": topic.records, "megabytes": round(topic.megabytes, 1)}
                for copies, topic in self.topics.items()
            },
            "contestants": contestants,
            "ratios": ratios(contestants),
        }


def ratios(contestants: dict[str, Any]) -> dict[str, Any]:
    """Ours (local disk) against each peer; above 1 is better, but for memory and file size, where below 1 is.

    `speed` is the smaller of the wall ratio on the largest topic and the marginal ratio; against bare programs, which
    have no start-up, the marginal one alone.
    """
    found: dict[str, Any] = {}
    if OURS not in contestants:
        return found
    ours = contestants[OURS]
    largest = max(ours["sizes"], key=int)
    for name, peer in contestants.items():
        if name == OURS or largest not in peer["sizes"]:
            continue
        mine, theirs = ours["sizes"][largest], peer["sizes"][largest]
        wall = theirs["wall_seconds"] / mine["wall_seconds"]
        marginals = ours["marginal_mb_per_cpu_second"], peer["marginal_mb_per_cpu_second"]
        marginal = marginals[0] / marginals[1] if all(marginals) else None
        speed = min(wall, marginal or wall) if not CONTESTANTS[name].bare else marginal
        found[name] = {
            "speed": _rounded(speed),
            "wall": _rounded(wall),
            "marginal": _rounded(marginal),
            "file_bytes": _rounded(mine["file_bytes"] / theirs["file_bytes"], 3)
            if theirs["file_bytes"]
            else None,
            "memory": _rounded(mine["peak_mb"] / theirs["peak_mb"]),
        }
    return found


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None else round(value, digits)


def compared(
    room: Room,
    data: DataSet,
    sizes: Sequence[int],
    rounds: int,
    names: Sequence[str],
    compression: str = "none",
) -> dict[str, Any]:
    """The figures of one comparison with their rows; who cannot decode the records is left out.

    Raises WrongOutput and ProgramFailed.
    """
    names = [name for name in names if CONTESTANTS[name].reads(data.shape)]
    figures = Race(room, rounds, names).run(data, sizes, compression).document()
    rows = Rows("-".join([data.name, *([compression] if compression != "none" else [])]))
    add_rows(rows, data.name, figures, compression)
    return {**figures, "rows": rows.made}


class Race:
    """Runs contestants on one data set."""

    def __init__(self, room: Room, rounds: int, names: Sequence[str]) -> None:
        self._room = room
        self._rounds = rounds
        self._names = names
        self._count = 0

    def run(self, data: DataSet, sizes: Sequence[int], compression: str = "none") -> Comparison:
        """All contestants in turns. Raises WrongOutput and ProgramFailed."""
        if data.schema is not None:
            registry = self._room.registry()
            data = data.registered(registry.url, registry.register(f"{data.name}-value", data.schema))
        result = Comparison(data, compression)
        rows, checksum = expected(decoded(data), data.shape)
        try:
            for copies in sizes:
                say(f"producing {data.name} x{copies}, compression {compression}")
                result.topics[copies] = fill(self._room.kafka(), data, copies, compression)
            for number in range(self._rounds):
                first = number % len(self._names)
                # another one begins each time: no one always follows the same neighbour
                for name in [*self._names[first:], *self._names[:first]]:
                    for copies in sizes:
                        if CONTESTANTS[name].on_hdfs and copies != max(sizes):
                            continue
                        truth = rows * copies, checksum * copies % (1 << 64)
                        if CONTESTANTS[name].only_fetches:
                            truth = rows * copies, round(result.topics[copies].megabytes * 1e6)
                        self._round(number, CONTESTANTS[name], copies, truth, result)
        finally:
            for topic in result.topics.values():
                self._room.kafka().delete_topic(topic.name)  # the next part's page cache
        return result

    def _round(
        self, number: int, contestant: Contestant, copies: int, truth: tuple[int, int], result: Comparison
    ) -> None:
        cost, written = self._one(contestant, result.topics[copies], deep=number == 0)
        check(contestant, written, truth, deep=number == 0)
        result.costs.setdefault((contestant.name, copies), []).append(cost)
        result.contents[contestant.name, copies] = written
        say(
            f"round {number + 1} {result.data.name} x{copies} {contestant.label}: {cost.wall:.1f} s,"
            f" {cost.cpu:.1f} CPU-s, {cost.peak_mb:.0f} MB, {written.file_bytes / 1e6:.1f} MB in"
            f" {written.files} files"
        )

    def _one(self, contestant: Contestant, topic: FilledTopic, deep: bool) -> tuple[Cost, Content]:
        self._count += 1
        folder = self._room.new_folder()
        (folder / "output").mkdir()
        tree: Tree = LocalTree()
        uri = (folder / "output").as_uri()
        if contestant.on_hdfs:
            hdfs = self._room.hdfs()
            tree, uri = HdfsTree(hdfs.client()), f"{hdfs.namenode_url}/bench/{self._count}"
        place = Place(folder, uri, self._room.kafka().bootstrap, topic.name, topic.data.shape)
        os.sync()  # the neighbour's dirty pages are not this one's business
        cost = measured(contestant.command(place, None), folder / "log", environment)
        written = contestant.written(tree, contestant.location(place), topic.data.shape, deep)
        if contestant.on_hdfs:
            self._room.hdfs().client().delete(f"/bench/{self._count}", recursive=True)
        shutil.rmtree(folder)
        return cost, written


def decoded(data: DataSet) -> Iterator[pa.RecordBatch]:
    """The records as rows, by Python's own means: no contestant's decoder judges itself."""
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in data.shape.columns.items()])
    converts = [(name, convert) for name, kind in data.shape.columns.items() if (convert := _convert(kind))]
    records = data.rows_as_json()
    for start in range(0, len(records), 50_000):
        rows = [orjson.loads(record) for record in records[start : start + 50_000]]
        for row in rows:
            for name, convert in converts:
                if name in row:
                    row[name] = convert(row[name])
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _convert(kind: str) -> Callable[[Any], Any] | None:
    """What JSON cannot say of a Hive type; None: Python's parser gives it as it is."""
    if kind.startswith("decimal"):
        return lambda number: decimal.Decimal(repr(number))  # exact up to 15 digits
    known: dict[str, Callable[[Any], Any]] = {
        "timestamp": lambda text: datetime.datetime.fromisoformat(text).replace(tzinfo=None),
        "binary": base64.b64decode,
        "map<string,string>": lambda entries: list(entries.items()),
    }
    return known.get(kind)


def check(contestant: Contestant, written: Content, truth: tuple[int, int], deep: bool) -> None:
    """Raises WrongOutput."""
    rows, checksum = truth
    if written.rows != rows:
        raise WrongOutput(f"{contestant.label} wrote {written.rows} rows of {rows}")
    if deep and written.checksum != checksum:
        raise WrongOutput(
            f"{contestant.label} wrote {rows} rows, but others: {written.checksum} != {checksum}"
        )

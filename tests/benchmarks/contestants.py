"""Who takes part: this program and its peers, each as a command over a topic and a place for the output."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.benchmarks.data.content import Content, content
from tests.benchmarks.peers import bare_loop
from tests.benchmarks.peers.shape import ZSTD_LEVEL, Shape
from tests.oracle.tree import Tree
from tests.services.jars import ROOT

CORES = 2  # what everybody may use, and what the aims are stated for
OURS, OURS_HDFS = "kafka2hive", "kafka2hive_hdfs"
TABLE = "bench.records"


@dataclass(frozen=True, slots=True)
class Place:
    """One run: `folder` is a fresh local directory, `uri` where the output goes (the folder's own, or on HDFS)."""

    folder: Path
    uri: str
    bootstrap: str
    topic: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Contestant:
    """`command` makes what it needs in the folder, for a run to the topic's end or, with seconds for an interval, until
    it is killed; `location` is where its table then lies, `reads` which records it can decode. `written` reads the
    table, unless `only_fetches`: then it reads the counts. Who is `bare` has no start-up worth naming.
    """

    name: str
    label: str
    command: Callable[[Place, float | None], list[str]]
    location: Callable[[Place], str]
    on_hdfs: bool = False
    reads: Callable[[Shape], bool] = lambda _shape: True
    written: Callable[[Tree, str, Shape, bool], Content] = content
    only_fetches: bool = False
    bare: bool = False


def write_map(place: Place, options: dict[str, object] | None = None, **sections: object) -> Path:
    """The map of a dump of the topic, with the defaults a user has; without metadata columns, as the peers.

    `options` are the table's own, `sections` the service's.
    """
    table = {
        "table": TABLE,
        "topics": [place.topic],
        "start": "earliest",
        "columns": {name: _column(kind, place.shape) for name, kind in place.shape.columns.items()},
        "bucket": {"field": place.shape.time, "path": f"dt={place.shape.strftime}"},
        "writer": {"level": ZSTD_LEVEL},
        **(options or {}),
    }
    match place.shape.encoding:
        case "avro":
            table |= {"format": "avro"}
            sections |= {"registry": {"url": place.shape.registry}}
        case "protobuf":
            table |= {"format": "protobuf", "protobuf_schema": place.shape.proto}
        case "debezium":
            table |= {"source": "debezium"}
    document = {
        # a name of its own: another run's consumer group would be taken for a witness of a lost ledger
        "service": f"bench-{place.folder.name}",
        "kafka": {"bootstrap.servers": place.bootstrap},
        "storage": {"uri": place.uri},
        "spark": {"master": f"local[{CORES},4]"},
        "run_directory": str(place.folder / "run"),
        "tables": [table],
        **sections,
    }
    path = place.folder / "map.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _column(kind: str, shape: Shape) -> object:
    """Debezium writes times as numbers, and so do our Protobuf messages."""
    in_numbers = shape.encoding in ("protobuf", "debezium") and kind == "timestamp"
    return {"type": kind, "unit": "ms"} if in_numbers else kind


PROGRAM = (sys.executable, "-m", "kafka2hive.cli.main", "run", "-c")


def _ours(place: Place, interval: float | None = None) -> list[str]:
    if interval is None:
        return [*PROGRAM, str(write_map(place)), "--once"]
    return [*PROGRAM, str(write_map(place, {"flush": {"interval": f"{interval:g}s"}}, trigger="1s"))]


def _our_table(place: Place) -> str:
    return f"{place.uri}/warehouse/{TABLE.replace('.', '.db/')}"


def _peer(module: str) -> Callable[[Place, float | None], list[str]]:
    def command(place: Place, interval: float | None = None) -> list[str]:
        (checkpoint := place.folder / "checkpoint").mkdir(exist_ok=True)
        how = ["--once"] if interval is None else ["--continuous", str(interval)]
        return [
            *(sys.executable, "-m", f"tests.benchmarks.peers.{module}", *how),
            *("--bootstrap", place.bootstrap, "--topic", place.topic, "--output", f"{place.uri}/table"),
            *(
                "--shape",
                str(place.shape.write(place.folder / "shape.json")),
                "--checkpoint",
                str(checkpoint),
            ),
            *("--parallelism", str(CORES)),
        ]

    return command


def _bare_fetch(place: Place, interval: float | None = None) -> list[str]:
    return [*_bare_loop(place, interval), "--only", "fetch"]


def _bare_loop(place: Place, interval: float | None = None) -> list[str]:
    if interval is not None:
        raise ValueError(
            "the bare loop has no state to continue from: it only reads what the topic holds now"
        )
    return [
        *(str(bare_loop.program()), "--librdkafka", bare_loop.librdkafka()),
        *("--bootstrap", place.bootstrap, "--topic", place.topic, "--output", f"{place.uri}/table"),
        *("--shape", str(place.shape.write(place.folder / "shape.json")), "--parallelism", str(CORES)),
    ]


def _peer_table(place: Place) -> str:
    return f"{place.uri}/table"


CONTESTANTS = {
    c.name: c
    for c in (
        Contestant(OURS, "kafka2hive, local disk", _ours, _our_table),
        Contestant(OURS_HDFS, "kafka2hive, HDFS", _ours, _our_table, on_hdfs=True),
        Contestant("spark_foreach_batch", "Spark foreachBatch", _peer("spark_foreach_batch"), _peer_table),
        Contestant("spark_file_sink", "Spark file sink", _peer("spark_file_sink"), _peer_table),
        Contestant("flink", "Flink SQL", _peer("flink"), _peer_table),
        Contestant("bare_loop", "bare loop", _bare_loop, _peer_table, reads=bare_loop.reads, bare=True),
        Contestant(
            "bare_fetch",
            "bare fetch (the limit)",
            _bare_fetch,
            _peer_table,
            written=bare_loop.fetched,
            only_fetches=True,
            bare=True,
        ),
    )
}

environment = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}

"""A small service on local disk for tests of the commands: a map, a ledger, an epoch that was committed and no more."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer.testing
from typer.testing import CliRunner, Result

from kafka2hive.cli.main import app
from kafka2hive.config.load import load_map
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.init import init
from kafka2hive.ledger.snapshot.change import FirstPositions
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.service.wiring import Wiring, wire
from tests.harness.owner import new_owner
from tests.harness.staged_epoch import commit_staged

TABLE = "air.flights"
READ = 10


NOBODY = "127.0.0.1:9"


def write_map(folder: Path, more: str = "", bootstrap: str = NOBODY) -> Path:
    """A right map with one table and no Hive; everything below `folder`, Kafka by default where nobody is."""
    path = folder / "map.yaml"
    path.write_text(
        f"""\
service: demo
kafka: {{bootstrap.servers: "{bootstrap}", sasl.password: "s3cr3t"}}
storage: {{uri: "{folder.as_uri()}"}}
tables:
  - table: {TABLE}
    topics: [flights]
    columns: {{carrier: string, flight: bigint, time_hour: timestamp}}
    bucket: {{field: time_hour}}
{more}"""
    )
    return path


def wired(folder: Path, tables: str, service: str = "demo") -> Wiring:
    """A service on local disk, its map's `tables` as given, its Kafka where nobody is."""
    path = folder / "map.yaml"
    path.write_text(
        f'service: {service}\nkafka: {{bootstrap.servers: "{NOBODY}"}}\nstorage: {{uri: "{folder.as_uri()}"}}\n{tables}\n'
    )
    return wire(load_map(str(path), {}))


@dataclass(frozen=True, slots=True)
class Service:
    """What `pending_service` made: the map's file and the pending epoch's files."""

    map: Path
    wiring: Wiring
    files: tuple[DataFile, ...]

    def final(self, number: int) -> Path:
        """The place on disk where readers will see a file."""
        return local(self.files[number].final)

    def staged(self, number: int) -> Path:
        """Where it lies now."""
        return local(self.files[number].staged)


def local(uri: str) -> Path:
    """The path of a `file://` URI."""
    return Path(uri.removeprefix("file://"))


def pending_service(
    folder: Path, file_count: int = 2, bootstrap: str = NOBODY, buckets: Sequence[str] = ()
) -> Service:
    """A ledger whose epoch 2 is committed, its files staged, nothing promoted: what a `kill -9` after C2 leaves.

    The files hold offsets 5 to 15 of topic flights, partition 0, as far as the ledger knows: one for each of `buckets`, without
    these `file_count` files of one bucket.
    """
    buckets = buckets or ["dt=2013-01-01"] * file_count
    path = write_map(folder, bootstrap=bootstrap)
    wiring = wire(load_map(str(path), {}))
    paths = wiring.paths(TABLE)
    location = wiring.map.tables[0].location
    init(wiring.ports, paths, wiring.map.service, location)
    owned = start(wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner), location)).owned
    first = Position(TopicPartition("flights", 0), 5, 5)
    change = FirstPositions(positions=(first,), location=location)
    owned = publish(wiring.ports, owned, change).owned
    ranges = OffsetRange(first.topic_partition, 5, 5 + READ)
    return Service(path, wiring, commit_staged(wiring, owned, ranges, buckets))


def moved_wiring(service: Service) -> Wiring:
    """The same service after its map was edited: the table lies in `elsewhere`."""
    text = service.map.read_text()
    if "location:" not in text:
        new = (service.map.parent / "elsewhere").as_uri()
        service.map.write_text(
            text.replace("    topics: [flights]\n", f"    topics: [flights]\n    location: {new}\n")
        )
    return wire(load_map(str(service.map), {}))


def tree(folder: Path) -> set[str]:
    """Every path below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@contextmanager
def logging_kept() -> Iterator[None]:
    """Commands configure logging; put back what was there."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    known = root.manager.loggerDict.values()
    levels = {logger: logger.level for logger in known if isinstance(logger, logging.Logger)}
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for logger, its_level in levels.items():
            logger.setLevel(its_level)
        logging.captureWarnings(False)


vars(typer.testing)["_get_command"] = cache(vars(typer.testing)["_get_command"])
"""Typer would make all commands and their options anew for each call, which takes half of a short command's time."""


def invoke(*arguments: str) -> Result:
    """Run a command line in this process."""
    with logging_kept():
        return CliRunner().invoke(app, list(arguments))


def document(result: Result) -> dict[str, object]:
    """The JSON a command printed."""
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value

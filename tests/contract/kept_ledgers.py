"""Ledgers and files as a released version wrote them: archives in tests/contract/ledgers, made by `scripts/keep-ledger`.

Ledgers hold absolute paths, so an archive lies at one fixed place while it is made and while it is read.
"""

import fcntl
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka2hive.ledger.snapshot.lines import FORMAT
from tests.drills.driver_kills import PROGRAM, environment
from tests.drills.failpoint import AFTER, Failpoint
from tests.harness.program import Finished, Running, command_as_process
from tests.harness.service_map import location, write_map
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

ARCHIVES = Path(__file__).parent / "ledgers"
PLACE = Path("/var/tmp/kafka2hive-kept-ledger")
URI = PLACE.as_uri()
LOCK = PLACE.with_suffix(".lock")
SERVICE = "flights"
MAP, EXPECTED = f"{SERVICE}.yaml", "expected.json"
WRITERS: dict[str, dict[str, object]] = {
    "parquet": {},
    "orc": {"format": "orc"},
    "avro": {"format": "avro", "timestamps": "millis"},
    "json": {"format": "json"},
    "text": {"format": "text"},
}
TABLES = {name: f"air.in_{name}" for name in WRITERS}
PENDING = TABLES["parquet"]
"""Its second epoch is committed, and its files are not visible yet."""
DAYS = ("2026-01-30", "2026-01-31")
RECORDS = 60
BAD = 3


def records(first: int) -> list[bytes]:
    """RECORDS flights from number `first` on; BAD of them have no number."""
    return [
        json.dumps(
            {
                "id": f"x{number}" if number - first < BAD else number,
                "carrier": ("AA", "DL", "UA")[number % 3],
                "fare": f"{number}.25",
                "at": f"{DAYS[number % 2]}T{number % 24:02}:30:00Z",
            }
        ).encode()
        for number in range(first, first + RECORDS)
    ]


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """The archive at its place, for one process at a time; gives the map."""
    with _place_alone():
        with tarfile.open(archive) as packed:
            packed.extractall(PLACE, filter="data")
        yield PLACE / MAP


@contextmanager
def _place_alone() -> Iterator[None]:
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir()
        try:
            yield
        finally:
            shutil.rmtree(PLACE, ignore_errors=True)


def keep(archive: Path) -> None:
    """Dump two rounds of records with this version; kill it in the second when one table's epoch is committed."""
    with _place_alone(), tempfile.TemporaryDirectory() as scratch, KafkaBroker(Path(scratch)) as broker:
        config = _map(Path(scratch), broker)
        broker.create_topic(SERVICE, 2)
        stored = produce(broker.bootstrap, SERVICE, records(0), 2)
        _done(command_as_process("run", config, "--once"))
        _done(command_as_process("run", config, "--once"))  # it certifies what was complete when it began
        _done(command_as_process("pause", config, "--table", TABLES["text"]))
        stored |= produce(broker.bootstrap, SERVICE, records(RECORDS), 2)
        committed = Failpoint(
            "committed", "rename", rf"/{PENDING}/.*e\d+\.pending$", AFTER, mark=str(Path(scratch) / "mark")
        )
        with Running(config, "--once", program=PROGRAM, env=environment(committed)) as run:
            run.wait()
            assert committed.was_hit(), run.tail()
        rows = [[place[1], place[2], json.loads(value or b"{}")] for place, value in stored.items()]
        (PLACE / EXPECTED).write_text(json.dumps(rows))
        text = config.read_text().replace(broker.bootstrap, "127.0.0.1:9").replace(scratch, "/nowhere")
        (PLACE / MAP).write_text(text)
        with tarfile.open(archive, "w:xz", preset=9) as packed:
            packed.add(PLACE, ".", filter=_anonymous)


def _map(folder: Path, broker: KafkaBroker) -> Path:
    common = {
        "topics": [SERVICE],
        "start": "earliest",
        "columns": {"id": "bigint", "carrier": "string", "fare": "decimal(10,2)", "at": "timestamp"},
        "metadata": {"partition": "k_partition", "offset": "k_offset"},
        "bucket": {"field": "at"},
        "flush": {"interval": "1s"},
        "completion": {"delay": "1s"},
        "counts": {"window": "1m"},
    }
    tables = [{"table": TABLES[name], **common, "writer": writer} for name, writer in WRITERS.items()]
    return write_map(folder, SERVICE, broker.bootstrap, URI, tables)


def _done(finished: Finished) -> None:
    assert finished.code == 0, finished.out + finished.log[-5000:]


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def files_of(table: str) -> list[Path]:
    """The visible data files of a table."""
    home = Path(location(URI, table).removeprefix("file://"))
    return sorted(path for path in home.glob("dt=*/*") if ".final" in path.name)


if __name__ == "__main__":
    target = ARCHIVES / f"format-{FORMAT}.tar.xz"
    if target.exists():
        sys.exit(f"{target} is there: an archive stays as the version wrote it")
    ARCHIVES.mkdir(exist_ok=True)
    keep(target)
    sys.stdout.write(f"{target}: {target.stat().st_size:,} B\n")

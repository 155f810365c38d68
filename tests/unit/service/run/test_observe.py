"""What people and machines see of a run: progress lines, logs without secrets, metrics over HTTP, systemd's socket."""

import io
import json
import logging
import re
import socket
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kafka2hive.model.files import FileMoves, HivePartition
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.ledger import heartbeat_name
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.observe import progress
from kafka2hive.observe.endpoint import Health, Notifier
from kafka2hive.observe.log import LogFormat, configure
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.observe.progress import EpochNumbers, TableNumbers, Totals
from kafka2hive.service.run.telemetry.metrics import Freshness, epoch_numbers
from kafka2hive.service.tables.manifests import Outcome
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.logged import LoggedFileSystem
from kafka2hive.storage.port import NotFound, write_file

EPOCH = EpochNumbers(
    41,
    2.0,
    (
        TableNumbers(
            "d.t", 7, 119_000, 26_000_000, 2, FileMoves(created=5, renamed=4, already_there=1), 3, 1, 10, 2.4
        ),
        TableNumbers(
            "d.u", 3, 1_000, 100_000, moves=FileMoves(created=1, renamed=1), freshness_seconds=600.0
        ),
    ),
    {"tasks": 1.5, "publish": 0.5},
    set_aside=1,
    lag_records=10,
    tasks=4,
    most_tasks=6,
)


@pytest.fixture
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    logging.captureWarnings(False)
    for handler in set(root.handlers) - set(handlers):
        handler.close()
    root.handlers[:] = handlers
    for name in ("kafka2hive.storage", "kafka2hive.ledger"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    root.setLevel(level)


def test_an_epoch_is_one_line() -> None:
    assert progress.line(EPOCH) == (
        "epoch 41: 2 tables, 120,000 records, 26.1 MB in 2.0 s (13.1 MB/s), 6 files, lag 10, fresh 10 min,"
        " 2 dead letters, 1 partition not in Hive yet, 1 table SET ASIDE"
    )


def test_a_runs_end_is_one_line_that_names_what_is_left() -> None:
    totals = Totals().plus(EPOCH).plus(EPOCH)
    assert progress.total_line(
        totals, seconds=12.34, lag_records=0, unregistered=0, hive=True, set_aside=0
    ) == ("dumped 240,000 records (52.2 MB) into 12 files in 2 epochs and 12.3 s, lag 0, 4 dead letters")
    early = progress.total_line(
        Totals(), seconds=1.0, lag_records=None, unregistered=0, hive=True, set_aside=0
    )
    assert early == "dumped 0 records (0 B) into 0 files in 0 epochs and 1.0 s, lag not known"
    left = progress.total_line(Totals(), seconds=1.0, lag_records=7, unregistered=1, hive=True, set_aside=2)
    assert left == (
        "dumped 0 records (0 B) into 0 files in 0 epochs and 1.0 s, lag 7,"
        " 1 partition NOT REGISTERED in Hive: the next start tries again, 2 tables SET ASIDE"
    )
    for_ever = progress.total_line(
        Totals(), seconds=1.0, lag_records=7, unregistered=4, hive=False, set_aside=0
    )
    assert for_ever.endswith("lag 7, the map names no Hive: 4 partitions for you to register")


def test_a_quiet_epoch_says_only_what_there_is() -> None:
    assert (
        progress.line(EpochNumbers(1, 0.0, ()))
        == "epoch 1: 0 tables, 0 records, 0 B in 0.0 s (0 B/s), 0 files, lag 0"
    )


@pytest.mark.parametrize(("hive", "overdue"), [(True, 1), (False, 0)])
def test_a_partition_is_overdue_when_it_was_open_before_the_epoch_and_the_map_names_a_hive(
    hive: bool, overdue: int
) -> None:
    """Of three: one that was registered meanwhile, one still open, and one that only this epoch brought."""
    registered, owed, new = (HivePartition("d.t", f"dt={n}", f"file:///t/dt={n}") for n in range(3))
    table = cast(
        "Table",
        SimpleNamespace(
            name="d.t",
            not_in_hive=frozenset({owed, new}),
            lag=0,
            aside=None,
            last_state=None,
        ),
    )
    outcome = cast("Outcome", SimpleNamespace(total=OffsetAccounting()))
    before = frozenset({registered, owed})
    report = TableReport("d.t", outcome, FileMoves(), cast("Snapshot", SimpleNamespace(epoch=2)), before)
    numbers = epoch_numbers(EpochReport(1, (report,), 0.0, 0.0, (table,)), {"d.t": 0.0}, hive)
    assert [(t.unregistered, t.overdue) for t in numbers.tables] == [(2, overdue)]


def test_a_table_is_as_fresh_as_its_newest_record_or_as_the_time_since_nothing_waited() -> None:
    table = SimpleNamespace(name="d.t", lag=None, last_state=None)
    fresh = Freshness()

    def seen(now: float, lag: int | None, newest: float | None = None) -> float | None:
        table.lag = lag
        table.last_state = None if newest is None else SimpleNamespace(newest_ms=newest * 1000)
        return fresh.of(cast("Table", table), now)

    assert seen(1_000, None) is None, "Kafka was not asked yet"
    assert [seen(1_100, 5), seen(1_160, 5)] == [0.0, 60.0], "it never showed a row"
    assert seen(1_200, 5, newest=900) == 300.0, "the run began with a backlog"
    assert seen(1_300, 0, newest=1_290) == 0.0
    assert seen(9_300, 0, newest=1_290) == 0.0
    assert seen(9_360, 1, newest=1_290) == 60.0, "a quiet topic"
    assert seen(9_420, 1, newest=9_400) == 20.0


def test_files_that_nobody_can_explain_are_shouted_about() -> None:
    table = TableNumbers("d.t", 1, 1, 1, moves=FileMoves(created=3, renamed=1, given_up=1))
    assert "1 file UNACCOUNTED FOR" in progress.line(EpochNumbers(1, 1.0, (table,)))


@pytest.mark.usefixtures("_logging_as_before")
def test_what_is_no_terminal_gets_json_lines_with_the_epochs_numbers() -> None:
    out = io.StringIO()
    configure(stream=out)
    progress.log_epoch(EPOCH)
    line = json.loads(out.getvalue())
    assert line["message"] == progress.line(EPOCH) and line["level"] == "info" and line["time"].endswith("Z")
    assert (line["event"], line["epoch"], line["records"], line["lag_records"]) == ("epoch", 41, 120_000, 10)
    assert line["tables"]["d.t"] == {
        "epoch": 7,
        "records": 119_000,
        "bytes": 26_000_000,
        "files": 5,
        "dead_letters": 2,
        "out_of_range": 0,
        "late": 0,
        "lag_records": 10,
    }
    assert (line["files"], line["tasks"]) == (6, 4) and line["phases"] == {"tasks": 1.5, "publish": 0.5}


def change_a_file(folder: Path) -> None:
    """Five changes of files that go well, one of them a heartbeat, and one that does not."""
    folder.mkdir(exist_ok=True)
    files, base = LoggedFileSystem(LocalFileSystem()), f"file://{folder}"
    write_file(files, f"{base}/a", b"x")
    files.rename(f"{base}/a", f"{base}/b")
    write_file(files, f"{base}/{heartbeat_name('host-1-' + 'a' * 32, 0)}", b"x")
    files.delete(f"{base}/b")
    with pytest.raises(NotFound):
        files.rename(f"{base}/secret", f"{base}/d")


def operations(text: str) -> list[str]:
    return [f"{line['operation']} {line['level']}" for line in map(json.loads, text.splitlines())]


WELL = ["create debug", "close debug", "rename debug", "delete debug"]


@pytest.mark.usefixtures("_logging_as_before")
@pytest.mark.parametrize(
    ("level", "logged"),
    [
        (logging.INFO, []),
        (logging.DEBUG, WELL),
        (logging.WARNING, None),
    ],
)
@pytest.mark.parametrize("audited", [False, True])
def test_changes_of_files_are_logged_at_debug_and_in_a_file_of_their_own_where_that_is_wanted(
    tmp_path: Path, level: int, logged: list[str] | None, audited: bool
) -> None:
    out, audit = io.StringIO(), tmp_path / "audit.jsonl"
    configure(
        level=level,
        secrets=["secret"],
        stream=out,
        audit_log=str(audit) if audited else None,
    )
    change_a_file(tmp_path)
    logging.getLogger("kafka2hive.service").debug("no change of a file")
    lines = [line for line in out.getvalue().splitlines() if "operation" in line]
    assert operations("\n".join(lines)) == ([] if logged is None else [*logged, "rename info"])
    if audited:
        assert operations(audit.read_text()) == [*WELL, "rename info"]
        assert "secret" not in audit.read_text()
    else:
        assert not audit.exists()


@pytest.mark.usefixtures("_logging_as_before")
def test_an_audit_log_that_was_moved_away_is_made_again(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    configure(stream=io.StringIO(), audit_log=str(audit))
    change_a_file(tmp_path / "first")
    audit.rename(tmp_path / "audit.1")
    change_a_file(tmp_path / "second")
    assert operations(audit.read_text()) == [*WELL, "rename info"]


@pytest.mark.usefixtures("_logging_as_before")
def test_people_get_a_line_with_the_time_and_the_level_when_it_matters() -> None:
    out = io.StringIO()
    configure(LogFormat.HUMAN, stream=out)
    logging.getLogger("kafka2hive.x").info("moved %d files", 3)
    logging.getLogger("kafka2hive.x").warning("slow")
    first, second = out.getvalue().splitlines()
    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?: \(.*\))?"
    assert re.fullmatch(f"{moment} moved 3 files", first) and re.fullmatch(f"{moment} WARNING slow", second)


@pytest.mark.usefixtures("_logging_as_before")
@pytest.mark.parametrize("log_format", [LogFormat.HUMAN, LogFormat.JSON])
def test_a_secret_never_gets_into_a_line_not_even_in_a_trace_or_escaped(log_format: LogFormat) -> None:
    out = io.StringIO()
    secret = 'pa"ss\\word'
    configure(log_format, secrets=[secret, ""], stream=out)
    logger = logging.getLogger("kafka2hive.x")
    logger.info("sasl.password=%s", secret)
    try:
        raise ValueError(f"bad {secret}")
    except ValueError:
        logger.exception("refused", extra={"fields": {"given": secret}})
    assert "***" in out.getvalue() and "ss\\word" not in out.getvalue() and "ss\\\\word" not in out.getvalue()


@pytest.mark.usefixtures("_logging_as_before")
def test_json_stays_one_line_an_event() -> None:
    out = io.StringIO()
    configure(LogFormat.JSON, stream=out)
    logging.getLogger("x").warning(
        "two\nlines %s", {"a": Path("p")}, extra={"fields": {"message": "no", "path": Path("p")}}
    )
    line = json.loads(out.getvalue())
    assert line["message"].startswith("two\nlines") and line["path"] == "p"


def test_prometheus_sees_an_epochs_numbers() -> None:
    metrics = ServiceMetrics("flights")
    port = metrics.serve("127.0.0.1", 0)
    try:
        metrics.observe_epoch(EPOCH)
        metrics.observe_moves("d.t", FileMoves(created=2, already_there=1, retried=3))
        metrics.observe_missing_file("d.t")
        metrics.observe_lag("d.idle", 5, None)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            lines = set(answer.read().decode().splitlines())
    finally:
        metrics.close()
    assert {
        'kafka2hive_service_info{service="flights"} 1.0',
        'kafka2hive_records_total{table="d.t"} 119000.0',
        'kafka2hive_bytes_total{table="d.u"} 100000.0',
        'kafka2hive_dead_letters_total{table="d.t"} 2.0',
        'kafka2hive_files_created_total{table="d.t"} 7.0',
        'kafka2hive_moves_total{outcome="renamed",table="d.t"} 4.0',
        'kafka2hive_moves_total{outcome="already_there",table="d.t"} 2.0',
        'kafka2hive_moves_total{outcome="retried",table="d.t"} 3.0',
        'kafka2hive_moves_total{outcome="missing",table="d.t"} 1.0',
        'kafka2hive_unaccounted_files{table="d.t"} 1.0',
        'kafka2hive_unaccounted_files{table="d.u"} 0.0',
        'kafka2hive_lag_records{table="d.idle"} 5.0',
        "# HELP kafka2hive_freshness_seconds how long records may have waited, as far as this run knows;"
        " 0 if no record waits in Kafka, absent until the run knows",
        'kafka2hive_freshness_seconds{table="d.u"} 600.0',
        'kafka2hive_unregistered_partitions{table="d.t"} 3.0',
        "kafka2hive_tables_set_aside 1.0",
        "kafka2hive_epochs_total 1.0",
        "kafka2hive_epoch_tasks 4.0",
        "kafka2hive_epoch_tasks_limit 6.0",
        'kafka2hive_ledger_epoch{table="d.t"} 7.0',
        'kafka2hive_epoch_phase_seconds_count{phase="tasks"} 1.0',
    } <= lines


def test_the_endpoint_tells_a_run_that_hangs_from_one_that_starts_serves_or_stops() -> None:
    seconds = [0.0]
    metrics = ServiceMetrics("flights")
    metrics.health = health = Health(lambda: seconds[0])
    port = metrics.serve("127.0.0.1", 0)

    def asked() -> tuple[int, int, int, int]:
        return get("live"), get("health"), get("ready"), get("metrics")

    def get(path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    try:
        assert asked() == (200, 200, 503, 200), "it starts"
        seconds[0] = 50.0
        health.serves()
        assert asked() == (200, 200, 200, 200)
        seconds[0] = 111.0
        assert asked() == (503, 503, 503, 200), "its main loop hangs"
        health.progress()
        assert asked() == (200, 200, 200, 200)
        seconds[0] = 999.0
        health.stops()
        assert asked() == (200, 200, 503, 200), "it ends in order"
    finally:
        metrics.close()


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A bound datagram socket as systemd has one, and its name for NOTIFY_SOCKET."""
    name = str(tmp_path / "notify") if request.param == "path" else f"@kafka2hive-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(name.replace("@", "\0", 1) if request.param == "abstract" else name)
        receiver.settimeout(5)
        yield receiver, name


def test_systemd_hears_of_a_services_life(systemd: tuple[socket.socket, str]) -> None:
    receiver, name = systemd
    notifier = Notifier({"NOTIFY_SOCKET": name})
    notifier.ready("2 tables")
    notifier.watchdog()
    notifier.status("epoch 1:\n10 records")
    notifier.extend_timeout(1.5)
    notifier.stopping()
    assert [receiver.recv(4096).decode() for _ in range(5)] == [
        "READY=1\nSTATUS=2 tables",
        "WATCHDOG=1",
        "STATUS=epoch 1: 10 records",
        "EXTEND_TIMEOUT_USEC=1500000",
        "STOPPING=1",
    ]


def test_without_systemd_nothing_is_told_and_nothing_fails(tmp_path: Path) -> None:
    Notifier({}).ready()
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready()
    Notifier({"NOTIFY_SOCKET": "vsock:2:1"}).ready()

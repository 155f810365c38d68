"""Many tables in one service, one of them broken for the whole run: the others do not wait for it."""

import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.progress import Progress
from tests.drills.stream import Stream
from tests.harness.program import Running, command, run_once
from tests.harness.scenario import Scenario, on_disk, payloads_in
from tests.oracle.data_files import visible_rows
from tests.oracle.exact import ends_of
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import Tree
from tests.services.kafka_broker import KafkaBroker

PER_SECOND = 2  # of each table


@pytest.mark.timeout(7200)
def test_one_broken_table_does_not_hold_up_the_others(
    kafka: KafkaBroker, form: Form, figures: Figures, unique: str, tmp_path: Path
) -> None:
    chance = random.Random(seed := form.seed())
    tables = [f"{unique}.n{number}" for number in range(form.pick(12, 50))]
    seconds = form.pick(5.0, 120.0)
    broken, *others = chance.sample(tables, len(tables))
    for topic in tables:
        kafka.create_topic(topic)
    entries = [payloads_in(table, table, bucket={"path": ""}) for table in tables]
    scenario = Scenario(tmp_path, unique, kafka.bootstrap, on_disk(tmp_path), entries)
    times: dict[str, tuple[float, float]] = {}
    with Stream(
        kafka.bootstrap, dict.fromkeys(tables, 1), lambda: b"%d" % time.time_ns(), PER_SECOND * len(tables)
    ) as stream:
        with Running(scenario.config) as run:
            times["well"] = let_run(run, scenario, seconds)
            assert run.terminate() == 143, run.tail()
        stood_at = scenario.ledgers[broken].newest()["position"]
        damaged = damage(scenario.tree, scenario.ledgers[broken])
        with Running(scenario.config) as run:
            run.wait_for_epoch()
            times["one broken"] = let_run(run, scenario, seconds, *others)
            stored = stream.end()
            ends = ends_of(stored)
            scenario.wait_until_at(run, {(table, 0): ends[table, 0] for table in others})
            assert run.terminate() == 143, run.tail()
            assert run.said(f"{broken} is set aside until it is repaired"), run.tail()
    scenario.assert_exactly_once(stored, *others)

    freshness = {
        name: sorted(ages(scenario.tree, [scenario.location(table) for table in others], begin, end))
        for name, (begin, end) in times.items()
    }
    p99 = {name: percentile(found, 0.99) for name, found in freshness.items()}
    figures(
        tables=len(tables),
        records=sum(map(len, freshness.values())),
        p50_well_s=round(percentile(freshness["well"], 0.5), 2),
        p99_well_s=round(p99["well"], 2),
        p50_one_broken_s=round(percentile(freshness["one broken"], 0.5), 2),
        p99_one_broken_s=round(p99["one broken"], 2),
        p99_ratio=round(p99["one broken"] / p99["well"], 2),
        seed=seed,
    )

    recovered = command("recover", scenario.config)
    assert recovered.code == 76 and f"{broken}  STOP" in recovered.out, recovered
    assert "ledger.damaged" in recovered.out
    repair(damaged)
    assert scenario.ledgers[broken].newest()["position"] == stood_at, "the broken table was touched"
    if form.long:  # another harm, which the program tries again by itself
        block(scenario.location(broken))
        aside = run_once(scenario.config, patient=False)
        assert aside.code == 75 and "storage." in aside.log and broken in aside.log, aside.log[-3000:]
        unblock(scenario.location(broken))
        done = run_once(scenario.config)
        assert done.code == 0, done.log[-3000:]
        scenario.assert_exactly_once(stored, broken)
    scenario.recover()
    scenario.verify()


def let_run(run: Running, scenario: Scenario, seconds: float, *tables: str) -> tuple[float, float]:
    """From when each of these tables (or of all) has its first rows of this run: begin and end, Unix seconds."""
    scenario.wait_for_positions(run, *tables)
    progress = Progress(run, scenario.ledgers_of(*tables))
    progress.wait()
    begin = time.time()
    time.sleep(seconds)
    end = time.time()
    progress.wait()  # what was sent until now and is fresh is visible
    return begin, end


def ages(tree: Tree, places: Sequence[str], begin: float, end: float) -> list[float]:
    """Seconds from a record's birth to the moment its file got its final name, of all records born in between."""
    visible_at: dict[str, float] = {}
    found = []
    for place in places:
        for row in visible_rows(tree, place):
            born = int(row.values["value"]) / 1e9
            if begin <= born < end:
                if row.path not in visible_at:  # a rename changes the inode: that is its time of change
                    visible_at[row.path] = Path(urlsplit(row.path).path).stat().st_ctime
                found.append(visible_at[row.path] - born)
    return found


def percentile(ascending: Sequence[float], share: float) -> float:
    return ascending[min(len(ascending) - 1, math.ceil(share * len(ascending)) - 1)]


def damage(tree: Tree, ledger: LedgerText) -> Path:
    """Change a byte in each of its snapshots that counts; gives the newest one's path, with its bytes beside it."""
    newest = max(
        (path for path in tree.files(ledger.directory()) if path.endswith(".final")),
        key=lambda path: int(path.rpartition("/e")[2].split(".")[0]),
    )
    path = Path(urlsplit(newest).path)
    path.with_suffix(".kept").write_bytes(path.read_bytes())
    path.write_bytes(path.read_bytes().replace(b'"end":', b'"end" :', 1))
    return path


def repair(path: Path) -> None:
    """Undo `damage`."""
    path.write_bytes(path.with_suffix(".kept").read_bytes())
    path.with_suffix(".kept").unlink()


def block(place: str) -> None:
    """Put a file where the table's staging directory belongs: nothing can be written."""
    staging = Path(urlsplit(place).path) / "_tmp"
    staging.rmdir()
    staging.write_bytes(b"")


def unblock(place: str) -> None:
    """Undo `block`."""
    (Path(urlsplit(place).path) / "_tmp").unlink()

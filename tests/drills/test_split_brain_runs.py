"""Split brain of the whole program: a run is stopped, another one takes over, the first is woken while the other works.

Stopped is the driver alone (its JVM and its tasks go on), or everything of the run, as when a machine is frozen.
"""

import random
import signal
import statistics
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.drills.conftest import Figures
from tests.drills.driver_kills import ORPHAN_SECONDS, PATIENCE, PROGRAM, environment
from tests.drills.form import Form
from tests.drills.spark_workers import within
from tests.drills.split_brain import changes_since, tried_since, wait_until_stopped
from tests.harness.program import Running, run_once
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.harness.sessions import processes_of_session, send_all
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

FENCED = 73
PART = 12_000
# several epochs of each part: a run that is stopped is in the middle of its work
EPOCH_RECORDS = 3_000


@pytest.mark.timeout(7_200)
def test_a_run_that_wakes_up_fenced_ends_and_changes_nothing(
    processes: ExitStack,
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    rounds = form.count(1, 10)
    seed = form.seed()
    chance = random.Random(seed)
    table, limits = f"{unique}.flights", {"epoch_records": EPOCH_RECORDS}
    tables, storage = [flights_in(table, unique)], on_hdfs(hdfs, unique)
    scenario = Scenario(tmp_path, unique, kafka.bootstrap, storage, tables, limits=limits)
    ledger = scenario.ledgers[table]
    kafka.create_topic(unique, 2)
    source, parts = flights(), 0

    def more() -> None:
        nonlocal parts
        begin = parts * PART % (len(source) - PART)
        stored.update(produce(kafka.bootstrap, unique, source[begin : begin + PART], 2))
        parts += 1

    stored = produce(kafka.bootstrap, unique, source[:100], 2)

    def start(number: int, *arguments: str) -> Running:
        env = environment(journal=tmp_path / f"{number}.journal")
        return processes.enter_context(Running(scenario.config, *arguments, program=PROGRAM, env=env))

    first = start(0)
    first.wait_for_epoch(PATIENCE)
    count: Counter[str] = Counter()
    ends: list[float] = []
    for number in range(1, rounds + 1):
        more()
        whole = (number + seed) % 2 == 0
        if chance.random() < 0.5:
            within(20, lambda: ledger.pending_epoch() is not None, pause=0.0005)
        else:
            time.sleep(chance.uniform(0, 2))
        asleep = processes_of_session(first.pid) if whole else [psutil.Process(first.pid)]
        send_all(asleep, signal.SIGSTOP)
        wait_until_stopped(first.pid)
        committing = ledger.pending_epoch() is not None

        more()
        second = start(number, "--takeover")
        second.wait_for_epoch(PATIENCE)
        more()
        woken = time.monotonic()
        send_all(asleep, signal.SIGCONT)
        code = first.wait(PATIENCE)
        ends.append(time.monotonic() - woken)
        assert code == FENCED, f"seed {seed}: {first.tail()}"
        journal = tmp_path / f"{number - 1}.journal"
        done = changes_since(journal, first.pid, woken)
        assert not done, f"seed {seed}: the fenced run changed {done}"
        first.wait_for_orphans(ORPHAN_SECONDS)
        count["changes_tried_after_waking"] += tried_since(journal, first.pid, woken)
        count["whole_session" if whole else "driver_only"] += 1
        count["within_a_commit"] += committing
        first = second
    assert first.terminate() == 143, first.tail()
    assert run_once(scenario.config).code == 0
    scenario.assert_exactly_once(stored)
    scenario.verify()
    figures(
        seed=seed,
        rounds=rounds,
        fenced=len(ends),
        rows=len(stored),
        generations=ledger.generation(),
        **count,
        woken_to_end_p50_s=round(statistics.median(ends), 2),
        woken_to_end_max_s=round(max(ends), 2),
    )

"""One run of the service lives through every restart of its broker, clean or not, and through one that hangs."""

import itertools
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.drills.form import Form
from tests.drills.progress import Progress
from tests.drills.stream import Stream
from tests.harness.program import Running, command
from tests.harness.service_map import flights_table, ledger_root, location, raw_table, write_map
from tests.oracle.exact import assert_exactly, assert_same_bytes, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import LocalTree
from tests.services.flights import flights
from tests.services.kafka_broker import KafkaBroker

if TYPE_CHECKING:
    from tests.drills.conftest import Figures

PER_SECOND = 200


@pytest.mark.timeout(36_000)
def test_one_run_lives_through_every_restart_of_its_broker(
    form: Form, figures: "Figures", unique: str, tmp_path: Path
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    restarts, hangs = form.count(3, 50), form.count(1, 3)
    hang_seconds = form.pick((5.0, 5.0), (60.0, 240.0))
    uri, tree = f"file://{tmp_path}/disk", LocalTree()
    json, raw = f"{unique}.flights", f"{unique}.payloads"
    ledgers = [LedgerText(tree, ledger_root(uri), table) for table in (json, raw)]
    payloads = itertools.cycle(flights()[(start := chance.randrange(300_000)) : start + 30_000])
    with KafkaBroker(tmp_path / "kafka") as broker:
        for topic in (f"{unique}-j", f"{unique}-r"):
            broker.create_topic(topic, 2)
        config = write_map(
            tmp_path,
            unique,
            broker.bootstrap,
            uri,
            [flights_table(json, f"{unique}-j"), raw_table(raw, f"{unique}-r")],
        )
        topics = {f"{unique}-j": 2, f"{unique}-r": 2}
        with (
            Stream(broker.bootstrap, topics, lambda: next(payloads), PER_SECOND) as stream,
            Running(config) as run,
        ):
            run.wait_for_epoch()
            generations = [ledger.generation() for ledger in ledgers]
            progress, pids, killed = Progress(run, ledgers), {broker.service.pid}, 0
            away = 0.0
            for number in range(restarts):
                time.sleep(chance.uniform(0, 1.5))
                began = time.monotonic()
                if number % 2:
                    broker.stop()
                else:
                    broker.kill()
                    killed += 1
                time.sleep(chance.uniform(0, 1.0))
                broker.start()
                away = max(away, time.monotonic() - began)
                pids.add(broker.service.pid)
                progress.wait()
            after_restart = progress.longest_seconds
            for _ in range(hangs):
                broker.service.suspend()
                epochs = run.epochs()
                time.sleep(chance.uniform(*hang_seconds))
                assert run.alive and run.epochs() <= epochs + 1, (
                    f"epochs from a broker that hangs (seed {seed})"
                )
                broker.service.resume()
                progress.wait()
            stored = stream.end()
            progress.wait_for(ends_of(stored))
            assert run.terminate() == 143, run.tail()
        assert len(pids) == restarts + 1, f"restarts that did not happen (seed {seed})"
        assert [ledger.generation() for ledger in ledgers] == generations, f"taken over anew (seed {seed})"
        verified = command("verify", config)
        assert verified.code == 0, verified.out + verified.log
    for table, topic in ((json, f"{unique}-j"), (raw, f"{unique}-r")):
        mine = {place: value for place, value in stored.items() if place[0] == topic}
        assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(mine))
        if table == json:
            assert_exactly(tree, location(uri, table), mine, flight)
        else:
            assert_same_bytes(tree, location(uri, table), mine)
    figures(
        restarts=restarts,
        killed=killed,
        hangs=hangs,
        longest_away_s=round(away, 1),
        next_rows_after_restart_s=round(after_restart, 1),
        longest_wait_s=round(progress.longest_seconds, 1),
        records=len(stored),
        epochs=run.epochs(),
    )

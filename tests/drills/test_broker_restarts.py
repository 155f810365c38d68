"""One run of the service lives through every restart of its broker, clean or not, and through one that hangs."""

import random
import time
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.progress import Progress
from tests.drills.stream import Stream, some_flights
from tests.harness.program import Running
from tests.harness.scenario import Scenario, flights_in, on_disk, payloads_in
from tests.services.kafka_broker import KafkaBroker

PER_SECOND = 200


@pytest.mark.timeout(36_000)
def test_one_run_lives_through_every_restart_of_its_broker(
    form: Form, figures: Figures, unique: str, tmp_path: Path
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    restarts, hangs = form.count(2, 50), form.count(1, 3)
    hang_seconds = form.pick((5.0, 5.0), (60.0, 240.0))
    topics = {f"{unique}-j": 2, f"{unique}-r": 2}
    json, raw = topics
    tables = [flights_in(f"{unique}.flights", json), payloads_in(f"{unique}.payloads", raw)]
    with KafkaBroker(tmp_path / "kafka") as broker:
        for topic, count in topics.items():
            broker.create_topic(topic, count)
        scenario = Scenario(tmp_path, unique, broker.bootstrap, on_disk(tmp_path), tables)
        ledgers = scenario.ledgers_of()
        with (
            Stream(broker.bootstrap, topics, some_flights(seed), PER_SECOND) as stream,
            Running(scenario.config) as run,
        ):
            scenario.wait_for_positions(run)
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
            stored = scenario.end(run, stream)
        assert len(pids) == restarts + 1, f"restarts that did not happen (seed {seed})"
        assert [ledger.generation() for ledger in ledgers] == generations, f"taken over anew (seed {seed})"
        scenario.verify()
    scenario.assert_exactly_once(stored)
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

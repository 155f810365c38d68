"""Task attempts that die, hang or run twice while the service dumps: no record twice, no record lost.

Each blow hits an attempt that is writing a file; one that Spark did not feel (the attempt had just ended) does not count.
"""

import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.driver_kills import PATIENCE
from tests.drills.executor_kills import (
    SPECULATED_EPOCH_RECORDS,
    SPECULATED_RECORD_BYTES,
    SPECULATION,
    TWIN,
    WARN,
    Target,
    hang_until,
    lost_attempts,
    strike_until,
    swept,
)
from tests.drills.form import Form
from tests.drills.spark_workers import kill_executor_of, kill_worker
from tests.drills.supervised import EVERY_CHANGE
from tests.harness.program import Running
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.spark_standalone import SparkStandalone

# tries of a task are four: never two blows in one epoch; both tables' records count, so as many more make two epochs
EPOCH_RECORDS = 5_000


@pytest.mark.timeout(7_200)
def test_killed_workers_cost_attempts_and_no_record(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    kills = form.count(3, 60)
    wanted = [("killed", kill_worker)] * kills
    target = Target(kafka, hdfs, unique, tmp_path, (2 * kills + 4) * EPOCH_RECORDS // 2)
    config = target.config("local[2,4]", EPOCH_RECORDS, WARN)
    with ExitStack() as stack:
        run = stack.enter_context(Running(config, env=EVERY_CHANGE))
        run.wait_for_epoch(PATIENCE)
        felt = strike_until(run, target.prey([run.pid], EPOCH_RECORDS), wanted)
        target.scenario.end(run, target)
        lost, epochs, orphans = lost_attempts(run), run.epochs(), swept(run)
        assert not run.said("the tasks of epoch"), "an epoch did not survive its worker"
    orphans += target.assert_right()
    assert orphans, "no attempt was killed while it wrote"
    figures(
        kills=kills,
        **felt,
        attempts_lost=lost,
        epochs=epochs,
        orphans_swept=orphans,
        epochs_failed=0,
    )


@pytest.mark.timeout(7_200)
def test_on_a_cluster_killed_executors_and_speculation_double_nothing(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    kills, pauses = form.count(2, 40), form.count(1, 10)
    seed = form.seed()
    blows = [("killed", kill_worker), ("executor_killed", kill_executor_of)]
    wanted = [blows[number % 2] for number in range(kills)]
    random.Random(seed).shuffle(wanted)
    records = (2 * (kills + pauses) + 3) * SPECULATED_EPOCH_RECORDS // 2
    target = Target(kafka, hdfs, unique, tmp_path, records, SPECULATED_RECORD_BYTES)
    # two names of one machine: Spark starts a twin only on another host
    with SparkStandalone(tmp_path / "cluster", hosts=("127.0.0.1", "localhost")) as cluster:
        config = target.config(cluster.url, SPECULATED_EPOCH_RECORDS, WARN | SPECULATION)
        with ExitStack() as stack:
            run = stack.enter_context(Running(config, env=EVERY_CHANGE))
            run.wait_for_epoch(PATIENCE)
            prey = target.prey([worker.pid for worker in cluster.workers], SPECULATED_EPOCH_RECORDS)
            hang_until(run, prey, pauses)
            felt = strike_until(run, prey, wanted)
            target.scenario.end(run, target)
            lost, twins, epochs = lost_attempts(run), run.times_said(TWIN), run.epochs()
            orphans = swept(run)
            assert not run.said("the tasks of epoch"), "an epoch did not survive its worker"
    orphans += target.assert_right()
    assert len(target.tasks()) > 1, "one task did it all"
    figures(
        seed=seed,
        kills=kills,
        **felt,
        overtaken_by_a_twin=pauses,
        twins_killed=twins,
        attempts_lost=lost,
        epochs=epochs,
        orphans_swept=orphans,
    )

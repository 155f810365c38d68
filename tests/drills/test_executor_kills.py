"""Task attempts that die, hang or run twice while the service dumps: no record twice, no record lost.

Each blow hits an attempt that is writing a file; one that Spark did not feel (the attempt had just ended) does not count.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from kafka2hive.model.paths.table_directory import STAGING_DIRECTORY
from tests.drills.conftest import Figures
from tests.drills.driver_kills import PATIENCE
from tests.drills.form import Form
from tests.drills.spark_workers import Prey, kill_executor_of, kill_worker, stop, wake, within
from tests.drills.supervised import EVERY_CHANGE
from tests.harness.program import Running
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.oracle.exact import Acknowledged, assert_exactly, flight
from tests.services.flights import flights
from tests.services.produce import Place, produce
from tests.services.spark_standalone import SparkStandalone

if TYPE_CHECKING:
    from tests.services.hdfs import Hdfs
    from tests.services.kafka_broker import KafkaBroker

LOST = "Lost task "
# so ends the slower one of two attempts when the other has finished the stage
TWIN = "TaskKilled (Stage cancelled: Stage finished)"
# where the driver's JVM tells of lost attempts
WARN = {"spark.log.level": "WARN"}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.5",
}
# tries of a task are four: never two blows in one epoch; both tables' records count, so as many more make two epochs
EPOCH_RECORDS = 5_000
SPECULATED_EPOCH_RECORDS = 8_000
# an epoch of them is worth two tasks from the second on: more bytes, not more rows, which the oracle compares one by one
SPECULATED_RECORD_BYTES = 4_000
# so many for each blow that was felt say that none ever is; on a busy machine two of three miss
_MISSES = 12


class Target:
    """The service under attack, two tables on one topic; `send` more where blows have missed and used it up."""

    def __init__(
        self, kafka: "KafkaBroker", hdfs: "Hdfs", name: str, folder: Path, records: int, length: int = 0
    ) -> None:
        """`length`: spaces fill each flight up to so many bytes."""
        kafka.create_topic(name, 4)
        self._bootstrap, self._topic, self._length = kafka.bootstrap, name, length
        self._stored: dict[Place, bytes | None] = {}
        self.send(records)
        self._json = f"{name}.flights"
        tables = [flights_in(self._json, name), payloads_in(f"{name}.payloads", name)]
        self.scenario = Scenario(folder, name, kafka.bootstrap, on_hdfs(hdfs, name), tables)

    def send(self, records: int) -> None:
        source, sent = flights(), len(self._stored)
        wanted = [source[number % len(source)].ljust(self._length) for number in range(sent, sent + records)]
        self._stored |= produce(self._bootstrap, self._topic, wanted, 4)

    def end(self) -> Acknowledged:
        """All that was sent."""
        return self._stored

    def config(self, master: str, epoch_records: int, conf: dict[str, str]) -> Path:
        """The map; `epoch_records` count both tables' records."""
        spark: dict[str, Any] = {"master": master, "conf": conf}
        return self.scenario.write_map(spark=spark, limits={"epoch_records": epoch_records})

    def prey(self, roots: list[int]) -> Prey:
        """What writes its files below these processes."""
        return Prey(self.scenario.tree, list(map(self.scenario.location, self.scenario.tables)), roots)

    def assert_right(self) -> int:
        """Every record once in both tables, all orphans swept; gives how many orphans there were."""
        scenario = self.scenario
        place = scenario.location(self._json)
        assert_exactly(
            scenario.tree, place, self._stored, flight
        )  # orphans are there, and no reader sees them
        recovered = scenario.recover("--json")
        scenario.assert_exactly_once(self._stored)
        scenario.verify()
        return sum(int(table["orphans_deleted"]) for table in recovered.document["tables"])

    def tasks(self) -> set[int]:
        """The numbers of the tasks that took part in the epochs."""
        return {
            int(account["task"])
            for ledger in self.scenario.ledgers_of()
            for snapshot in ledger.history()
            for account in snapshot["account"]
        }


def lost_attempts(run: Running) -> int:
    """How many attempts failed."""
    return run.times_said(LOST) - run.times_said(TWIN)


def swept(run: Running) -> int:
    """How many orphans the run has deleted by itself, as it does every so many epochs."""
    return sum(
        text.startswith("delete ") and f"/{STAGING_DIRECTORY}/" in text and text.endswith(": done")
        for text in run.messages()
    )


def strike(run: Running, prey: Prey, blow: Callable[[psutil.Process], None]) -> bool:
    """One blow at a writing attempt; True when Spark lost an attempt by it. Waits for the end of that epoch."""
    worker = prey.writer(run)
    epochs, lost = run.epochs(), lost_attempts(run)
    try:
        blow(worker)
    except psutil.NoSuchProcess:
        return False
    run.wait_until(
        lambda: run.epochs() > epochs or lost_attempts(run) > lost, "an answer to the blow", PATIENCE
    )
    felt = lost_attempts(run) > lost
    run.wait_until(lambda: run.epochs() > epochs, "over the blow", PATIENCE)
    return felt


def hang(run: Running, prey: Prey) -> bool:
    """Stop a writing worker; True when a twin of its task let the epoch end while it was still stopped."""
    worker = prey.writer(run)
    epochs, twins = run.epochs(), run.times_said(TWIN)
    try:
        stop(worker)
    except psutil.NoSuchProcess:
        return False
    try:
        overtaken = within(120, lambda: run.epochs() > epochs)
    finally:
        wake(worker)
    run.wait_until(lambda: run.epochs() > epochs, "over the pause", PATIENCE)
    # not longer than two epochs: who waits for what will not come uses the data up
    within(60, lambda: run.times_said(TWIN) > twins or run.epochs() > epochs + 2 or not run.alive)
    return overtaken and run.times_said(TWIN) > twins


def strike_until(
    run: Running,
    prey: Prey,
    wanted: Sequence[tuple[str, Callable[[psutil.Process], None]]],
    missed: Callable[[], None],
) -> Counter[str]:
    """Blow after blow until each was felt; gives how often each was, and `missed`, which is called each time."""
    felt: Counter[str] = Counter()
    for name, blow in wanted:
        while not strike(run, prey, blow):
            felt["missed"] += 1
            missed()
            assert felt["missed"] <= _MISSES * len(wanted), f"nothing is felt: {felt}\n{run.tail()}"
        felt[name] += 1
    return felt


@pytest.mark.timeout(7_200)
def test_killed_workers_cost_attempts_and_no_record(
    kafka: "KafkaBroker", hdfs: "Hdfs", unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    kills = form.count(6, 60)
    wanted = [("killed", kill_worker)] * kills
    target = Target(kafka, hdfs, unique, tmp_path, (2 * kills + 4) * EPOCH_RECORDS // 2)
    config = target.config("local[2,4]", EPOCH_RECORDS, WARN)
    with ExitStack() as stack:
        run = stack.enter_context(Running(config, env=EVERY_CHANGE))
        run.wait_for_epoch(PATIENCE)
        felt = strike_until(run, target.prey([run.pid]), wanted, lambda: target.send(EPOCH_RECORDS))
        target.scenario.end(run, target)
        lost, epochs, orphans = lost_attempts(run), run.epochs(), swept(run)
        assert not run.said("failed in its tasks"), "an epoch did not survive its worker"
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
    kafka: "KafkaBroker", hdfs: "Hdfs", unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    kills, pauses = form.count(4, 40), form.count(1, 10)
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
            prey = target.prey([worker.pid for worker in cluster.workers])
            overtaken = tries = 0
            while overtaken < pauses:
                tries += 1
                assert tries <= _MISSES * pauses, f"no task was overtaken\n{run.tail()}"
                if hang(run, prey):
                    overtaken += 1
                else:
                    target.send(SPECULATED_EPOCH_RECORDS)
            felt = strike_until(run, prey, wanted, lambda: target.send(SPECULATED_EPOCH_RECORDS))
            target.scenario.end(run, target)
            lost, twins, epochs = lost_attempts(run), run.times_said(TWIN), run.epochs()
            orphans = swept(run)
            assert not run.said("failed in its tasks"), "an epoch did not survive its worker"
    orphans += target.assert_right()
    assert len(target.tasks()) > 1, "one task did it all"
    figures(
        seed=seed,
        kills=kills,
        **felt,
        overtaken_by_a_twin=overtaken,
        twins_killed=twins,
        attempts_lost=lost,
        epochs=epochs,
        orphans_swept=orphans,
    )

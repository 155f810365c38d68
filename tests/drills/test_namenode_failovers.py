"""NameNodes fail over under load, again and again: graceful, the active killed, the active suspended and resumed.

A suspended one wakes up believing that it is active, with calls in its sockets that nobody waits for any more.
"""

import random
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.followed_log import Record
from tests.drills.form import Form
from tests.drills.stream import Stream, some_flights
from tests.drills.supervised import Supervised
from tests.harness.scenario import Scenario, flights_in, on_pair
from tests.services.hdfs_ha import Failover, HdfsHa
from tests.services.kafka_broker import KafkaBroker

KINDS = (Failover.STOP, Failover.KILL9, Failover.GRACEFUL)
#: Longer than the product waits for an answer (60 s): it must give up the calls that hang and go on at the other NameNode.
LONG_PAUSE = 75.0
#: So many failovers more at most until one has hit a change of the driver: on a busy machine a moment may be missed.
MISSES = 9


def is_commit(record: Record) -> bool:
    """The commit is done: the files of the epoch move to their places next."""
    return record.get("operation") == "rename" and str(record["target"]).endswith(".pending")


def is_draft(record: Record) -> bool:
    """A snapshot's draft was created: it is written, closed and committed next."""
    return record.get("operation") == "create" and "/kafka_partition_offsets/" in str(record["path"])


def wait_for_a_moment(service: Supervised, number: int, chance: random.Random) -> None:
    """Before the commit, in the promote, or at any moment of an epoch."""
    if number % 4 == 0:
        service.wait_for_record(is_draft, "a draft")
    elif number % 4 == 1:
        service.wait_for_record(is_commit, "a commit")
    else:
        time.sleep(chance.uniform(0, 1.5))


def wake(ha: HdfsHa, number: int) -> bool:
    """SIGCONT to the old active: says whether it found out by itself, within 10 s, that it is active no more, and died."""
    ha.namenodes[number].resume()
    try:
        ha.namenodes[number].wait(10)
    except subprocess.TimeoutExpired:
        return False  # nobody has asked it for a change: it may believe in itself for as long as it likes
    return True


@pytest.mark.timeout(7200)
def test_no_failover_of_the_namenodes_loses_or_doubles_a_row(
    kafka: KafkaBroker, hdfs_ha: HdfsHa, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    tables = [flights_in(f"{unique}.flights", unique)]
    scenario = Scenario(tmp_path, unique, kafka.bootstrap, on_pair(hdfs_ha, unique), tables)
    kafka.create_topic(unique, 4)
    failovers: Counter[Failover] = Counter()
    fenced_by_the_journal = long_pauses = 0
    per_second = form.pick(1000, 400)
    with (
        Stream(kafka.bootstrap, {unique: 4}, some_flights(seed, per_second), per_second) as load,
        Supervised(scenario.config) as service,
    ):
        service.wait_for_epochs(2)
        wanted = form.count(3, 51)
        for number in range(wanted + MISSES):
            if number >= wanted and service.unclear:
                break
            kind = KINDS[number % len(KINDS)]
            wait_for_a_moment(service, number, chance)
            old = hdfs_ha.active
            new = hdfs_ha.failover(kind)
            failovers[kind] += 1
            if kind is Failover.STOP:
                is_long = number % 12 == 9
                time.sleep(LONG_PAUSE if is_long else chance.uniform(1, 4))
                fenced_by_the_journal += wake(hdfs_ha, old)
                long_pauses += is_long
            if kind is not Failover.GRACEFUL:
                hdfs_ha.revive(old)
            assert hdfs_ha.active == new, f"failover {number} (seed {seed})"
            service.wait_for_epochs(1, 900)
        stored = scenario.end(service, load)
        scenario.verify("--json")
        scenario.recover("--json")
    (rows,) = scenario.assert_exactly_once(stored).values()
    assert rows.total() == len(stored)
    assert all(failovers[kind] >= 1 for kind in KINDS), f"{failovers} (seed {seed})"
    assert service.unclear, f"no failover hit a change of the driver (seed {seed})"
    figures(
        failovers=failovers.total(),
        **{kind.name.lower(): failovers[kind] for kind in KINDS},
        longer_than_a_call_waits=long_pauses,
        woken_and_fenced_by_the_journal=fenced_by_the_journal,
        restarts=service.restarts,
        longest_without_an_epoch_s=round(service.longest_silence(), 1),
        ambiguous_answers=len(service.unclear),
        epochs=service.epochs(),
        rows=rows.total(),
    )

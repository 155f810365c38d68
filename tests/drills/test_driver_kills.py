"""`kill -9` of the whole program: at failpoints of `init`, `recover` and `run`, within commits, at any moment.

Most kills of the short form hit commands that need no Spark: the steps of a start are the same there.
"""

import random
import statistics
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.driver_kills import Killer, Supply
from tests.drills.failpoint_names import (
    COMMITTING,
    LEDGER_MADE,
    MARKED,
    PUBLISHING,
    REGISTERING,
    named,
)
from tests.drills.form import Form
from tests.drills.leftovers import take_marker_drafts_away
from tests.harness.program import command
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.oracle.exact import flights_by_month
from tests.services.flights import COUNT, flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce

SHORT_FLIGHTS = 20_000
# what a run dumps before it is killed, by experience
EPOCHS_OF_A_RUN = 5


def kill_the_beginning(killer: Killer) -> None:
    """`init` at every step of a new ledger, `recover` at every step of the owner marker."""
    for point in LEDGER_MADE:
        killer.command_at("init", point)
    assert command("init", killer.config).code == 0
    for point in MARKED:
        killer.command_at("recover", point)


def kill_recover_at_every_step(killer: Killer) -> None:
    """A run dies within a commit, or before it; then `recover` dies at each step of what is left to do."""
    killer.run_at(replace(named("after the commit"), count=3))  # the first two make the first positions
    killer.command_at("recover", named("before the take-over"))
    killer.command_at("recover", named("after the take-over"))
    killer.command_at("recover", replace(named("before promoting the second file"), count=1))
    killer.command_at("recover", replace(named("after promoting the second file"), count=1))
    killer.command_at("recover", named("before finalising"))
    killer.command_at("recover", named("after finalising"))
    killer.run_at(replace(named("before the commit"), count=3))
    killer.command_at("recover", named("before sweeping a draft"))
    killer.command_at("recover", named("after sweeping a draft"))
    killer.command_at("recover", named("before sweeping an orphan"))
    killer.command_at("recover", named("after sweeping an orphan"))
    killer.command_at("recover", named("before archiving a snapshot"))
    killer.command_at("recover", named("after archiving a snapshot"))


def kill_runs(killer: Killer, kills: int, chance: random.Random, all_points: bool) -> None:
    """Runs only: half at failpoints of an epoch in turn, a quarter within a commit, the rest at any moment."""
    steady = [p for p in PUBLISHING if "promoting the" in p.name or "finalising" in p.name]
    points = [*COMMITTING, *steady, *REGISTERING, named("before the take-over"), named("after the take-over")]
    chance.shuffle(points)
    if not all_points:
        points = [*REGISTERING, named("after promoting the second file"), named("before finalising")]
    for number in range(kills):
        if number % 10 == 9:
            killer.run_while_it_starts()
        elif number % 2 == 0:
            point = points[number // 2 % len(points)]
            early = point.operation == "register" or "take-over" in point.name
            killer.run_at(point if early else replace(point, count=chance.randint(3, 6)))
        elif number % 4 == 1:
            killer.run_within_a_commit()
        else:
            killer.run_at_any_moment()


@pytest.mark.timeout(14_400)
def test_kills_of_the_program_lose_nothing_and_double_nothing(
    processes: ExitStack,
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    kills, records = form.count(32, 200), form.pick(SHORT_FLIGHTS, COUNT)
    kafka.create_topic(hive_database, 4)
    stored: dict[Place, bytes | None] = {}

    def send(count: int) -> None:
        some = [flights()[number % COUNT] for number in range(len(stored), len(stored) + count)]
        stored.update(produce(kafka.bootstrap, hive_database, some, 4))

    json, raw = f"{hive_database}.flights", f"{hive_database}.payloads"
    scenario = Scenario(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        on_hdfs(hdfs, hive_database),
        [flights_in(json, hive_database), payloads_in(raw, hive_database)],
    )

    def the_map(epoch_records: int) -> Path:
        limits = {"epoch_records": epoch_records, "keep_snapshots": 2}
        return scenario.write_map(hive={"url": f"hive://{hive.address}"}, limits=limits)

    ledgers = scenario.ledgers_of()
    runs = form.pick(6, kills - 26)
    supply = Supply(ledgers, send, records // runs)
    supply.add(records)
    killer = Killer(the_map(2 * records // (runs * EPOCHS_OF_A_RUN)), ledgers, supply, chance, processes)
    try:
        kill_the_beginning(killer)
        kill_recover_at_every_step(killer)
        kill_runs(killer, kills - len(killer.kills) - 1, chance, form.long)
        the_map(5_000_000)
        killer.run_until_killed_at_the_end()
    except AssertionError as failed:
        failed.add_note(f"seed {seed}, after {[kill.what for kill in killer.kills]}")
        raise
    recovered = scenario.recover("--json")
    assert {t["result"] for t in recovered.document["tables"]} == {"done"}

    done = killer.kills
    unfinished, at_work = sum(kill.unfinished for kill in done), sum(kill.at_work for kill in done)
    assert len(done) == kills
    assert unfinished >= min(3, runs // 2), f"seed {seed}: too few kills within a commit"
    drafts = sum(take_marker_drafts_away(scenario.tree, scenario.location(t)) for t in (json, raw))
    scenario.assert_exactly_once(stored)
    assert Counter(dict(hive.query(f"select dt, count(*) from {json} group by dt"))) == flights_by_month(
        stored
    ), f"seed {seed}"
    assert hive.query(f"select count(*) from {raw}") == [(len(stored),)]
    scenario.verify("--contents")

    first_rows = sorted(kill.first_rows for kill in done if kill.first_rows is not None)
    names = Counter(kill.what for kill in done)
    figures(
        seed=seed,
        kills=len(done),
        of_run=sum(kill.what.startswith("run") for kill in done),
        at_work=at_work,
        within_a_commit=unfinished,
        failpoints=len(names),
        rows=2 * len(stored),
        generations=sum(ledger.generation() for ledger in ledgers),
        epochs=sum(len(ledger.history()) - 1 for ledger in ledgers),
        marker_drafts_left=drafts,
        first_rows_p50_s=statistics.median(first_rows),
        first_rows_max_s=first_rows[-1],
        first_rows_measured=len(first_rows),
    )

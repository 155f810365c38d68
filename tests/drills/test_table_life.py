"""Two days of a table in fast motion: epochs, compaction, late data, crashes, and other users of Hive, all at once.

At every moment readers see each row at most once, and none that they have seen is ever gone.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.driver_kills import ORPHAN_SECONDS
from tests.drills.fast_motion import DAY, HOUR, FastMotion, Kind
from tests.drills.form import Form
from tests.drills.hive_users import HiveUsers
from tests.drills.visible_counts import VisibleCounts
from tests.harness.clock import MovedClock
from tests.harness.program import Finished, Running, command, command_as_process, in_time
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.harness.service_map import FLIGHT_COLUMNS, ledger_root, location
from tests.oracle.data_files import visible_files, visible_rows
from tests.oracle.exact import Acknowledged, Inexact, assert_exactly, ends_of
from tests.oracle.fates import HOURS, LATE, OUT_OF_RANGE, ROW, EpochBounds, fate, timed_flight
from tests.oracle.ledger_text import Snapshot
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place

LATE_AT_THE_END = 20
SURE = {Kind.ON_TIME: ROW, Kind.CLOSED: LATE, Kind.FUTURE: OUT_OF_RANGE, Kind.PAST: OUT_OF_RANGE}
"""What becomes of records whatever the service does in the meantime."""


class Life:
    """The table, its service under kills, and what is left of it in the end."""

    def __init__(
        self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, database: str, folder: Path, flush: str
    ) -> None:
        self.hive, self.topic, self.clock = hive, database, MovedClock(folder)
        self.table, self.letters = f"{database}.flights", f"{database}.letters"
        kafka.create_topic(self.topic, 2)
        entry = flights_in(
            self.table,
            self.topic,
            timed_flight,
            columns={**FLIGHT_COLUMNS, "id": "bigint"},
            bucket={"field": "time_hour", "path": HOURS, "max_future": "2d", "max_past": "30d"},
            completion={"delay": "10m"},
            late="dead_letter",
            compact={"keep": "1d"},
            dead_letter_share=1.0,
            flush={"interval": flush},
        )
        self.scenario = Scenario(
            folder,
            database,
            kafka.bootstrap,
            on_hdfs(hdfs, database),
            [entry],
            hive={"url": f"hive://{hive.address}"},
            dead_letters={"table": self.letters},
        )
        self.tree, self.place = self.scenario.tree, self.scenario.location(self.table)
        (self.ledger,) = self.scenario.ledgers_of()

    def closed_ms(self) -> int:
        """Up to when the newest snapshot has closed the hours."""
        if not self.ledger.exists():
            return 0
        return max((line["late_before_ms"] or 0 for line in self.ledger.newest()["bounds"]), default=0)

    def run(self, processes: ExitStack) -> Running:
        return processes.enter_context(Running(self.scenario.config, env=self.clock.env))

    def compact(self) -> Finished:
        """`compact` by the moved clock; looks at all locations, too."""
        arguments = ("compact", self.scenario.config, "--table", self.table, "--json")
        done = in_time(lambda: command_as_process(*arguments, env=self.clock.env))
        assert done.code == 0, done.out + done.log[-3000:]
        return done

    def retire(self, motion: FastMotion) -> None:
        """Look, let more than a day pass, and look again, until no early file is left."""
        self.compact()
        motion.move_on(DAY + HOUR)
        for _ in range(5):
            self.compact()
            newest = self.ledger.newest()
            if not newest["moved"] and not newest["retired"]:
                return
        raise AssertionError(f"early files stay: {newest['moved']}, {newest['retired']}")

    def early_files(self) -> list[str]:
        """What queries would read at early places."""
        return [p for p in self.tree.files(f"{self.place}/_open") if p.rpartition("/")[2][0] not in "_."]

    def read_by_hive(self) -> dict[str, int]:
        """Rows by file."""
        return dict(
            self.hive.query(
                f"select input__file__name, count(*) from {self.table} group by input__file__name"
            )
        )


def fates_of(history: list[Snapshot], motion: FastMotion) -> dict[Place, str]:
    """What must have become of each record, by the ledger's bounds, which must agree with what the producer knows for sure."""
    bounds = EpochBounds(history)
    fates = {place: fate(record, bounds.of(*place)) for place, (record, _) in motion.stored.items()}
    for place, (_, kind) in motion.stored.items():
        if fates[place] != SURE.get(kind, fates[place]):
            raise Inexact(f"{place}, {kind.value}: {fates[place]}")
    return fates


def assert_all_are_rows_or_letters(life: Life, motion: FastMotion, fates: dict[Place, str]) -> Counter[str]:
    """Each record is one row at its home, or one letter with its reason and bytes. Returns the rows by Hive partition."""
    payloads = motion.payloads()
    rows: Acknowledged = {place: payloads[place] for place, what in fates.items() if what == ROW}
    by_partition = assert_exactly(life.tree, life.place, rows, timed_flight)
    letters = list(visible_rows(life.tree, location(life.scenario.uri, life.letters)))
    found = {
        (v["topic"], v["partition"], v["offset"]): (v["reason"], v["value"])
        for v in (letter.values for letter in letters)
    }
    wanted = {place: (what, payloads[place]) for place, what in fates.items() if what != ROW}
    if len(found) != len(letters) or found != wanted:
        wrong = sorted(p for p in found.keys() | wanted.keys() if found.get(p) != wanted.get(p))
        raise Inexact(f"{len(letters)} letters instead of {len(wanted)}, {len(wrong)} wrong: {wrong[:5]}")
    return by_partition


def assert_where_is_right(life: Life, places: list[Place]) -> None:
    """`where` names a file that holds the record, and is there."""
    held: dict[str, set[Place]] = {}

    def places_in(path: str) -> set[Place]:
        if path not in held:
            names = (
                ("topic", "partition", "offset")
                if "/letters/" in path
                else ("k_topic", "k_partition", "k_offset")
            )
            folder = path.rpartition("/")[0]
            rows = visible_rows(life.tree, folder)
            found: dict[str, set[Place]] = {}
            for row in rows:
                topic, number, offset = (row.values[name] for name in names)
                found.setdefault(row.path, set()).add((topic, number, offset))
            held.update(found)
        return held[path]

    for topic, number, offset in places:
        done = command("where", life.scenario.config, f"{topic}-{number}@{offset}", "--json")
        (answer,) = done.document["tables"]
        holding = [f["path"] for f in answer["files"] if (topic, number, offset) in places_in(f["path"])]
        assert len(holding) == 1, (offset, answer)


def accounts_of(snapshots: Iterable[Snapshot]) -> Counter[tuple[str, int, str]]:
    """The sums of all accounts by topic partition."""
    sums: Counter[tuple[str, int, str]] = Counter()
    for snapshot in snapshots:
        for account in snapshot["account"]:
            for name in ("read", "written", "filtered", "tombstones", "dead_lettered", "absent"):
                sums[account["topic"], account["number"], name] += account[name]
    return sums


def assert_rebuilt_ledger_agrees(life: Life, history: list[Snapshot]) -> None:
    """A ledger that is rebuilt from the files has the positions and the accounts of the one that was taken away."""
    ledger, root, ends = life.ledger, ledger_root(life.scenario.uri), life.ledger.ends()
    life.tree.rename(f"{root}/kafka_partition_offsets/{life.table}", f"{life.scenario.uri}/taken-away")
    rebuilt = command("recover", life.scenario.config, "--rebuild-ledger", life.table, "--json")
    assert rebuilt.code == 0, rebuilt.out + rebuilt.log[-3000:]
    since = [
        ledger.read(f"{ledger.directory()}/{name}") for name in ledger.names() if name.endswith(".final")
    ]
    assert ledger.ends() == ends
    assert accounts_of(since) == accounts_of(history)
    assert not since[-1]["early"] and not since[-1]["moved"]


@pytest.mark.timeout(7200)
def test_two_days_of_a_table_show_every_row_once_at_every_moment_whatever_is_killed(
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
    hours, kills = form.count(12, 48), form.count(2, 20)
    life = Life(kafka, hdfs, hive, hive_database, tmp_path, form.pick("1s", "4s"))
    counts = VisibleCounts()
    motion = FastMotion(
        kafka.bootstrap,
        life.topic,
        life.clock,
        random.Random(seed + 1),
        counts,
        life.closed_ms,
        hours=hours,
        hour_seconds=form.pick(1.5, 18.0),
        per_second=form.pick(60, 40),
    )
    run = life.run(processes)
    began = time.monotonic()
    with motion, HiveUsers(hive, life.table, counts, seed) as users:
        run.wait_for_epoch()
        run.wait_until(lambda: bool(hive.query(f"show partitions {life.table}")), "known to Hive", pause=1)
        begin_users(users, life, form)
        made, corrected = 0, 0
        spans = form.pick((3.0, 10.0), (10.0, 66.0))
        while not (motion.is_over and made >= kills):
            watch(users, chance.uniform(*spans))
            corrected += run.times_said(CORRECTED)
            run.kill_driver()
            made += 1
            last, run = run, life.run(processes)
            last.wait_for_orphans(ORPHAN_SECONDS)
        motion.end()
        life.scenario.wait_until_at(run, ends_of(motion.payloads()))
        users.stop_statements()
        motion.move_on(HOUR)  # the last hours may have been opened a moment ago
        run.wait_until(lambda: users.are_right() and not life.ledger.newest()["early"], "compacted", 900, 1)
        motion.send_closed(LATE_AT_THE_END)
        life.scenario.wait_until_at(run, ends_of(motion.payloads()))
        retired_by_runs = len([p for p in life.early_files() if "/moved-" in p])
        watch(users, form.pick(2.0, 70.0))
        corrected += run.times_said(CORRECTED)
        assert run.terminate() == 143, run.tail()
        users.stop()
        users.are_right()
    lasted = time.monotonic() - began

    life.retire(motion)
    history = life.ledger.history()
    fates = fates_of(history, motion)
    rows = assert_all_are_rows_or_letters(life, motion, fates)
    left = life.early_files()
    assert len(left) == len(rows) and all("/moved-" in path for path in left), left
    files = life.read_by_hive()
    assert sorted(files) == visible_files(life.tree, life.place) and sum(files.values()) == rows.total()
    life.scenario.verify("--deep")
    assert_where_is_right(life, chance.sample(sorted(fates), form.pick(8, 100)))
    assert_rebuilt_ledger_agrees(life, history)
    life.scenario.verify("--deep")
    kinds, letters = motion.kinds(), Counter(fates.values())
    assert letters[LATE] >= LATE_AT_THE_END
    sys.stdout.write("\n".join(users.failed))
    figures(
        seed=seed,
        records=len(fates),
        rows=letters.pop(ROW),
        **{f"letters_{reason}": count for reason, count in sorted(letters.items())},
        sent_after_their_hour=kinds[Kind.OLD] + kinds[Kind.CLOSED],
        hours=len(rows),
        files=len(files),
        epochs=len(history),
        kills=made,
        queries=users.done["queries"],
        longest_query_s=users.longest,
        **{name: count for name, count in sorted(users.done.items()) if name != "queries"},
        statements_failed=len(users.failed),
        locations_corrected=corrected,
        retired_by_runs=retired_by_runs,
        lasted_s=lasted,
    )


CORRECTED = "had a wrong location in Hive"


def begin_users(users: HiveUsers, life: Life, form: Form) -> None:
    """Readers, and the statements of others that may move locations."""
    ((path,), *_) = life.hive.query(f"show partitions {life.table}")
    dt, hr = (level.partition("=")[2] for level in path.split("/"))
    look = f"describe formatted {life.table} partition (dt='{dt}', hr='{hr}') id"
    life.hive.query("set metaconf:hive.metastore.try.direct.sql=false", look)  # makes the table of statistics
    for _ in range(form.pick(1, 3)):
        users.add_reader()
    users.add_statement(
        "analyze",
        form.pick((0.5, 2), (3, 40)),
        lambda _: [f"analyze table {life.table} compute statistics for columns"],
    )
    users.add_statement(
        "msck", form.pick((0.5, 3), (3, 30)), lambda _: [f"msck repair table {life.table} sync partitions"]
    )
    users.add_statement(
        "add_columns",
        form.pick((3, 8), (60, 150)),
        lambda number: [f"alter table {life.table} add columns (more_{number} string) cascade"],
    )


def watch(users: HiveUsers, seconds: float) -> None:
    """Wait so long, and fail as soon as a reader has found something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        users.are_right()
        time.sleep(0.2)

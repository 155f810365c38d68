"""Dead letters come back as rows on real services: a map that missed a field, a changed map, kills, and letters that stay."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.drills.driver_kills import PROGRAM as TRAPPED
from tests.drills.driver_kills import environment
from tests.drills.failpoint import AFTER, BEFORE, Failpoint
from tests.drills.failpoint_names import COMMIT, FINALISE, PROMOTE
from tests.drills.warm_program import WarmProgram
from tests.harness.program import PROGRAM, Running, command, run_once, run_once_until
from tests.harness.service_map import ledger_root, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

HIDING = r"\.final -> .*\.replayed$"
KILLS = [
    Failpoint(f"{moment} {name}", "rename", pattern, moment)
    for name, pattern in (
        ("staging a row", r"/_tmp/.*in-progress -> .*\.pending$"),
        ("the commit", COMMIT),
        ("promoting", PROMOTE),
        ("hiding the letters", HIDING),
        ("finalising", FINALISE),
    )
    for moment in (BEFORE, AFTER)
]
"""A replay dies at each of its steps; the next one does what is left."""
HIDDEN = ".replayed"
COUNT = 400


def record(number: int) -> bytes:
    """A record of the day `number % 3`: every 20th has another name for its time, every 50th can never become a row."""
    day = f"2026-01-{29 + number % 3:02d} 10:30:00"
    if number % 50 == 7:
        return b"no json %d" % number if number % 100 == 7 else b'{"id": "x%d"}' % number
    return json.dumps({"id": number, "when" if number % 20 == 3 else "at": day}).encode()


BAD = {number for number in range(COUNT) if number % 50 == 7}
MISSED = {number for number in range(COUNT) if number % 20 == 3}


_RAW = {"start": "earliest", "format": "raw", "flush": {"interval": "1s"}}


class Service:
    """One table with `completion`, whose map takes the time from `paths`."""

    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, name: str, folder: Path) -> None:
        self.hive, self.name, self.folder, self.kafka = hive, name, folder, kafka
        self.uri, self.tree = f"{hdfs.namenode_url}/{name}", HdfsTree(hdfs.client())
        self.table, self.letters = f"{name}.events", f"{name}.dead_letters"
        self.ledger = LedgerText(self.tree, ledger_root(self.uri), self.table)

    def map(self, *paths: str, beside: str = "") -> Path:
        """Write the map; `beside` is a topic that a second table reads."""
        table = {
            "table": self.table,
            "topics": [self.name],
            "start": "earliest",
            "columns": {"id": "bigint", "at": {"type": "timestamp", "from": list(paths)}},
            "metadata": {"topic": "k_topic", "partition": "k_partition", "offset": "k_offset"},
            "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
            "flush": {"interval": "1s"},
            "completion": {"delay": "1s"},
            "dead_letter_share": 1.0,
        }
        return write_map(
            self.folder,
            self.name,
            self.kafka.bootstrap,
            self.uri,
            [table, *([{"table": f"{self.name}.beside", "topics": [beside], **_RAW}] if beside else [])],
            hive={"url": f"hive://{self.hive.address}"},
            dead_letters={"table": self.letters},
        )

    def is_at(self, ends: dict[tuple[str, int], int]) -> bool:
        return self.ledger.ends() == ends

    def rows(self) -> Counter[int]:
        """What Hive's readers see."""
        return Counter(row[0] for row in self.hive.query(f"select id from {self.table}"))

    def letter_places(self) -> Counter[tuple[int, int]]:
        query = f"select `partition`, `offset` from {self.letters} where source_table = '{self.table}'"
        return Counter((number, offset) for number, offset in self.hive.query(query))

    def replay(self, config: Path, *arguments: str) -> dict[str, Any]:
        done = command("dead-letters replay", config, "--table", self.table, "--json", *arguments)
        assert done.code == 0, done.log
        return done.document

    def order_and_leave(self, config: Path) -> None:
        """Order a replay by a command that is killed as soon as its order lies in the inbox.

        A command that goes on would do the replay itself once it sees that the run is dead.
        """
        program = [*PROGRAM, "dead-letters"]
        with Running(config, "--table", self.table, program=program, name="replay") as command_waiting:
            command_waiting.wait_until(partial(command_waiting.said, "is given: "), "the order in the inbox")

    def certify(self, config: Path) -> None:
        """Let a live run certify every partition; it is not fenced by a replay meanwhile."""
        before = self.ledger.generation()
        with Running(config) as live:
            live.wait_until(lambda: self.ledger.generation() > before, "the table taken over")
            live.wait_until(lambda: not self.ledger.newest()["open"], "certified")
            generation = self.ledger.generation()
            answer = self.replay(config)
            assert (answer["files"], answer["order"]["kind"]) == (0, "replay")
            assert self.ledger.generation() == generation, "the run was fenced"
            assert live.terminate() == 143

    def verified(self, config: Path) -> list[str]:
        done = command("verify", config, "--deep", "--json")
        return [finding["code"] for one in done.document["tables"] for finding in one["findings"]]


def ids(numbers: Iterable[int]) -> Counter[int]:
    return Counter(numbers)


@pytest.mark.timeout(3600)
def test_letters_become_rows_once_after_a_changed_map_through_kills_at_every_step(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    service = Service(kafka, hdfs, hive, hive_database, tmp_path)
    kafka.create_topic(hive_database, 2)
    written: dict[int, tuple[int, int]] = {}
    everything = range(COUNT)
    half = COUNT // 2
    config = service.map("$.at")
    good = set(everything) - BAD - MISSED
    for numbers in (everything[:half], everything[half:]):
        stored = produce(kafka.bootstrap, hive_database, [record(n) for n in numbers], 2)
        by_payload = {payload: place for place, payload in stored.items()}
        written |= {number: by_payload[record(number)][1:] for number in numbers}
        done = run_once(config)
        assert done.code == 0, done.log[-3000:]
    letters = Counter(written[n] for n in BAD | MISSED)
    assert service.rows() == ids(good) and service.letter_places() == letters
    if service.ledger.newest()["open"]:  # as a rule the second run has certified all days
        run_once_until(config, lambda: not service.ledger.newest()["open"], "certified")

    # the same map: all of them fail again, and nothing changes
    warehouse, epoch = f"{service.uri}/warehouse", service.ledger.newest()["header"][0]["epoch"]
    before = service.tree.files(warehouse)
    answer = service.replay(config)
    assert (answer["files"], answer["unchanged_letters"]) == (0, len(BAD | MISSED))
    assert {one["reason"] for one in answer["refusals"]} >= {"bucket.no_time"}
    assert service.ledger.newest()["header"][0]["epoch"] == epoch
    assert service.tree.files(warehouse) == before
    assert service.letter_places() == letters and service.verified(config) == []

    # a changed map: what would become rows is not lost by it, but was not replayed yet
    config = service.map("$.at", "$.when")
    audited = command("verify", config, "--deep", "--json")
    (told,) = audited.document["tables"]
    assert (audited.code, told["findings"], told["not_checked"]) == (0, [], []), told
    assert f"{len(MISSED)} dead letters that the map accepts now" in str(told["notes"])
    assert f"dead-letters replay --table {service.table}" in str(told["notes"])
    planned = service.replay(config, "--plan")
    assert (planned["written"], planned["rows"]) == (len(MISSED), len(MISSED))
    assert service.rows() == ids(good)
    assert service.replay(config, "--plan", "--reason", "no.such")["files"] == 0
    assert service.replay(config, "--plan", "--since", "2100-01-01")["files"] == 0

    with WarmProgram(tmp_path / "killed.log") as program:
        for number, point in enumerate(KILLS):
            trap = replace(point, mark=str(tmp_path / f"mark{number}"))
            program.kill_at("dead-letters replay", config, trap, "--table", service.table)
            seen = service.letter_places()
            rows = service.rows()
            for missed in MISSED:  # never with neither
                assert rows[missed] + seen[written[missed]] >= 1, point.name
            assert max(rows.values()) == 1, point.name
    service.replay(config)
    assert command("recover", config).code == 0
    assert service.rows() == ids(good | MISSED)
    assert service.letter_places() == Counter(written[n] for n in BAD)
    assert service.verified(config) == []
    hidden = [path for path in service.tree.files(service.uri) if HIDDEN in path]
    assert hidden

    # what was certified is open again, and a run certifies it with the rows that came back
    assert service.ledger.newest()["open"]
    service.certify(config)
    assert service.verified(config) == []
    listed = command("dead-letters list", config, "--json")
    assert listed.document["dead_letters"] == len(BAD) and listed.document["not_read"] == []
    again = service.replay(config)
    assert (again["files"], again["unchanged_letters"]) == (0, len(BAD))
    place = written[min(MISSED)]
    where = command("where", config, f"{hive_database}-{place[0]}@{place[1]}", "--json").document["tables"]
    paths = [file["path"] for one in where for file in one["files"]]
    gone = {path.replace("_kafka2hive_", "").removesuffix(HIDDEN) for path in hidden}
    assert paths and not set(paths) & gone


MID_REPLAY = Failpoint("before hiding a file of the second batch", "rename", HIDING, BEFORE, count=6)
PARTS = 12


@pytest.mark.timeout(3600)
def test_a_live_run_replays_by_order_while_records_flow_and_another_run_goes_on_after_a_kill(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    service = Service(kafka, hdfs, hive, hive_database, tmp_path)
    beside = f"{hive_database}_beside"
    kafka.create_topic(hive_database, 1)
    kafka.create_topic(beside, 1)
    old = service.map("$.at", beside=beside)
    other = LedgerText(service.tree, ledger_root(service.uri), f"{hive_database}.beside")
    with Running(old) as run:
        for part in range(PARTS):  # each is an epoch with a file of letters
            first, end_of_part = (COUNT * number // PARTS for number in (part, part + 1))
            produce(kafka.bootstrap, hive_database, [record(n) for n in range(first, end_of_part)], 1)
            end = {(hive_database, 0): end_of_part}
            run.wait_until(partial(service.is_at, end), f"at {end}")
        run.wait_until(lambda: not service.ledger.newest()["unregistered"], "all in Hive")
        letters = service.letter_places()
        assert sum(letters.values()) == len(BAD | MISSED)
        named = [file for snapshot in service.ledger.history() for file in snapshot["file"]]
        parts = sum(file["kind"] == "dead_letter" for file in named)
        assert parts >= PARTS

        # a map that the run does not have is refused, and nothing changes
        config = service.map("$.at", "$.when", beside=beside)
        refused = command("dead-letters replay", config, "--table", service.table)
        assert refused.code == 78 and "order.other_map" in refused.log, refused.log
        assert "restart the run with the new map" in refused.log
        assert service.letter_places() == letters
        assert run.terminate() == 143

    # the run with the new map is killed in mid-replay, when nobody waits for the answer any more
    trap = Failpoint(**asdict(MID_REPLAY) | {"mark": str(tmp_path / "mark")})
    generation = service.ledger.generation()
    with Running(config, program=TRAPPED, env=environment(trap)) as killed:
        killed.wait_until(lambda: service.ledger.generation() > generation, "the table taken over")
        killed.wait_until(lambda: killed.said("the query runs"), "seen as a live run")
        service.order_and_leave(config)
        assert killed.wait() == -9 and trap.was_hit()
    (running,) = service.ledger.newest()["replaying"]
    assert 0 < running["files"] < parts
    assert not service.ledger.newest()["order"][1:]
    rows, seen = service.rows(), service.letter_places()
    assert max(rows.values()) == 1
    assert sum(rows[number] for number in MISSED) + sum(seen.values()) >= len(letters)  # never with neither

    # the next run goes on, while records of both tables flow
    everything, more = set(range(COUNT)), 0

    def flow() -> None:
        nonlocal more
        produce(kafka.bootstrap, beside, [b"record %d" % more], 1)
        produce(kafka.bootstrap, hive_database, [record(COUNT + more)], 1)
        more += 1

    flow()
    with Running(config) as run:
        while len(orders := service.ledger.newest()["order"]) < 2:
            assert run.alive, run.tail()
            flow()
        produced = {COUNT + number for number in range(more)}
        everything |= produced
        end = {(hive_database, 0): len(everything)}
        run.wait_until(lambda: service.ledger.ends() == end, f"at {end}")
        run.wait_until(lambda: other.ends() == {(beside, 0): more}, "beside")
        counts = json.loads(orders[1]["result"].removeprefix("done "))
        assert (counts["letters"], counts["written"]) == (len(BAD | MISSED), len(MISSED))
        assert (counts["files"], counts["again"], counts["unchanged"]) == (parts, len(BAD), 0)
        assert service.ledger.newest()["replaying"] == []

        bad = {n for n in everything if n % 50 == 7}
        run.wait_until(lambda: service.rows() == ids(everything - bad), "each a row once")
        run.wait_until(lambda: not service.ledger.newest()["unregistered"], "all in Hive")
        assert sum(service.letter_places().values()) == len(bad)
        generation = service.ledger.generation()
        shown = command("dead-letters replay", config, "--table", service.table)
        assert shown.code == 0 and "fail again and stay where they are" in shown.out, shown.log
        assert service.ledger.generation() == generation, "the run was fenced"
        assert run.terminate() == 143
    history = service.ledger.history()
    replayed = [s["header"][0]["written_at"] for s in history if s["replayed"]]
    assert len(replayed) >= 3
    others = [s["header"][0]["written_at"] for s in other.history() if s["account"]]
    ended = next(s["header"][0]["written_at"] for s in history if len(s["order"]) == 2)
    assert any(replayed[-2] <= at <= ended for at in others), (replayed, ended, others)
    assert service.verified(config) == []

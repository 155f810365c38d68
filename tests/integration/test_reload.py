"""A live run takes a changed map on real services: under load, beside a run that is killed in the middle, and refused maps."""

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.drills.driver_kills import PROGRAM as TRAPPED
from tests.drills.driver_kills import environment
from tests.drills.failpoint import AFTER, BEFORE, Failpoint
from tests.drills.stream import Stream, some_flights
from tests.harness.program import Finished, Running, command
from tests.harness.scenario import DumpedTable, Scenario, flights_in, on_hdfs, payloads_in
from tests.oracle.exact import Acknowledged
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports

PARTITIONS = 2


class Reloads:
    """A service whose tables come, change and go; each reads its own topic."""

    def __init__(self, folder: Path, unique: str, kafka: KafkaBroker, hdfs: Hdfs, **sections: Any) -> None:
        self.unique = unique
        self.topics = {name: f"{unique}-{name}" for name in ("kept", "changed", "removed", "added")}
        for topic in self.topics.values():
            kafka.create_topic(topic, PARTITIONS)
        self.sections = sections
        self.scenario = Scenario(
            folder,
            unique,
            kafka.bootstrap,
            on_hdfs(hdfs, unique),
            [self.flights("kept"), self.flights("changed"), self.payloads("removed"), self.payloads("added")],
            **sections,
        )
        self.all = dict(self.scenario.tables)
        self.write("kept", "changed", "removed")

    def table(self, name: str) -> str:
        return f"{self.unique}.{name}"

    def flights(self, name: str, **options: Any) -> DumpedTable:
        return flights_in(self.table(name), self.topics[name], **options)

    def payloads(self, name: str, **options: Any) -> DumpedTable:
        return payloads_in(self.table(name), self.topics[name], **options)

    def write(
        self, *names: str, changes: Mapping[str, Mapping[str, Any]] | None = None, **sections: Any
    ) -> None:
        """Write the map's file with these tables; `changes` has other values of their keys."""
        changed = changes or {}
        entries = {name: {**self.all[self.table(name)].entry, **changed.get(name, {})} for name in names}
        self.scenario.tables = {
            self.table(name): DumpedTable(entry, self.all[self.table(name)].content)
            for name, entry in entries.items()
        }
        letters = {"table": f"{self.unique}.letters"}
        self.scenario.config = self.scenario.write_map(dead_letters=letters, **{**self.sections, **sections})

    def stream(self, kafka: KafkaBroker) -> Stream:
        topics = dict.fromkeys(self.topics.values(), PARTITIONS)
        return Stream(kafka.bootstrap, topics, some_flights(7), 400)

    def command(self, *arguments: str) -> Finished:
        name, *rest = arguments
        return command(name, self.scenario.config, *rest, "--json")

    def reload(self) -> dict[str, Any]:
        done = self.command("reload")
        assert done.code == 0, done.out + done.log[-3000:]
        return done.document

    def assert_exact(self, stored: Acknowledged, removed: str) -> None:
        """The tables of the map have each record once; the removed one has each up to where it was released."""
        self.scenario.assert_exactly_once(stored)
        name = self.table(removed)
        self.scenario.tables[name] = self.all[name]
        ends = self.scenario.ledgers[name].ends()
        until = {place: value for place, value in stored.items() if place[2] < ends.get(place[:2], 0)}
        assert until, "the removed table has never read"
        self.scenario.assert_exactly_once(until, name, ends=ends)


@pytest.fixture(autouse=True)
def hangups_are_heard() -> Iterator[None]:
    """Whoever starts the tests may ignore SIGHUP (nohup), and then a run that they start would, too."""
    earlier = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, earlier)


@pytest.mark.timeout(3600)
def test_tables_come_change_and_go_under_load(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    service = Reloads(tmp_path, unique, kafka, hdfs, metrics={"port": port})
    scenario = service.scenario
    names = [service.table(name) for name in ("kept", "changed", "removed")]
    with service.stream(kafka) as load, Running(scenario.config) as run:
        scenario.wait_for_positions(run, *names)
        run.wait_until(lambda: f'kafka2hive_lag_records{{table="{names[2]}"}}' in metrics(port), "counted")
        service.write("kept", "changed", "added", changes={"changed": {"flush": {"interval": "2s"}}})
        shown = service.command("validate", "--against-running")
        assert shown.code == 0 and shown.document["outcome"] == "planned", shown.out + shown.log[-3000:]
        assert scenario.ledgers[names[2]].generation() == 1 and command("status", scenario.config).code == 0

        document = service.reload()
        assert document["outcome"] == "applied" and document["set_aside"] == []
        assert document["added"] == [service.table("added")] and document["removed"] == [names[2]]
        assert document["changed"] == [{"table": names[1], "keys": ["flush.interval"]}]
        generations = [scenario.ledgers[name].generation() for name in names]
        assert generations == [1, 2, 1], "only the changed table is taken over again"
        released = scenario.ledgers[names[2]].ends()
        scenario.wait_until_moved(run)
        text = metrics(port)
        assert f'table="{names[2]}"' not in text, "a removed table would raise alerts for ever"
        assert f'fingerprint="{document["map"][:12]}"' in text and 'outcome="applied"} 1.0' in text
        status = command("status", scenario.config, "--json").document
        assert status["map"] == document["map"] and status["last_reload"]["outcome"] == "applied"
        assert not status["map_differs"]
        states = {table["table"]: table["state"] for table in status["tables"]}
        assert states[names[2]] == "not_in_map" and states[service.table("added")] == "serving"
        stored = scenario.end(run, load)
        assert scenario.ledgers[names[2]].ends() == released
    service.assert_exact(stored, "removed")
    scenario.verify()


def metrics(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("what", "operation", "place", "moment"),
    [
        ("the added ledger is made", "rename", r"{added}", BEFORE),
        ("the changed table is taken over", "rename", r"{changed}/g0*2\.", AFTER),
        ("the order is moved", "rename", r"/inbox/.*\.json -> .*/done/", BEFORE),
    ],
)
def test_a_run_that_is_killed_during_a_reload_begins_with_the_new_map(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    *,
    what: str,
    operation: str,
    place: str,
    moment: str,
) -> None:
    service = Reloads(tmp_path, unique, kafka, hdfs)
    scenario = service.scenario
    pattern = place.format(added=service.table("added"), changed=service.table("changed"))
    trap = Failpoint(**asdict(Failpoint(what, operation, pattern, moment)) | {"mark": str(tmp_path / "mark")})
    names = [service.table(name) for name in ("kept", "changed", "removed")]
    with service.stream(kafka) as load:
        with Running(scenario.config, program=TRAPPED, env=environment(trap)) as killed:
            scenario.wait_for_positions(killed, *names)
            service.write("kept", "changed", "added", changes={"changed": {"flush": {"interval": "2s"}}})
            service.command("reload", "--timeout", "60s")
            killed.wait_until(trap.was_hit, f"killed when {what}")
        with Running(scenario.config) as run:
            scenario.wait_until_moved(run)
            assert service.reload()["outcome"] == "unchanged"
            inbox = f"{scenario.uri}/kafka2hive/inbox/{unique}"
            run.wait_until(
                lambda: not [f for f in scenario.tree.files(inbox) if "/done/" not in f],
                "done with the orders",
            )
            stored = scenario.end(run, load)
    service.assert_exact(stored, "removed")
    scenario.verify()


@pytest.mark.timeout(3600)
def test_what_cannot_be_reloaded_changes_nothing_and_sighup_asks_as_well(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    service = Reloads(tmp_path, unique, kafka, hdfs)
    scenario = service.scenario
    names = [service.table(name) for name in ("kept", "changed", "removed")]
    with service.stream(kafka) as load, Running(scenario.config) as run:
        scenario.wait_for_positions(run, *names)
        service.write("kept", "changed", trigger="1s")
        for arguments in (("validate", "--against-running"), ("reload",), ("reload", "--plan")):
            refused = service.command(*arguments)
            assert refused.code == 78, refused.out
            assert refused.document["error"]["code"] == "reload.needs_restart"
            assert "trigger: needs a restart" in refused.document["restart"][0]
        assert command("status", scenario.config, "--json").document["map_differs"]

        text = scenario.config.read_text()
        scenario.config.write_text(text.replace("topics:", "topic:"))
        wrong = service.command("reload")
        assert wrong.code == 78 and "config.invalid" in wrong.log
        os.kill(run.pid, signal.SIGHUP)
        run.wait_until(lambda: run.said("the reload that SIGHUP asked for is refused"), "told of the mistake")
        scenario.wait_until_moved(run)
        assert [scenario.ledgers[name].generation() for name in names] == [1, 1, 1]

        service.write("kept", "changed")
        os.kill(run.pid, signal.SIGHUP)
        run.wait_until(lambda: run.said(f"removed {names[2]}"), "told of the removal")
        again = {**service.all[names[2]].entry}
        assert again and service.reload()["outcome"] == "unchanged"
        service.write("kept", "changed", "removed")
        assert service.reload()["added"] == [names[2]], "it is added again"
        stored = scenario.end(run, load)
    scenario.assert_exactly_once(
        {place: v for place, v in stored.items() if place[0] != service.topics["added"]}
    )
    scenario.verify()
    gone = service.command("reload")
    assert gone.code == 69 and "reload.no_run" in gone.log


@pytest.mark.timeout(3600)
def test_hive_sees_what_a_removed_table_has_and_another_run_takes_it_over(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    service = Reloads(tmp_path, hive_database, kafka, hdfs, hive={"url": f"hive://{hive.address}"})
    scenario = service.scenario
    names = [service.table(name) for name in ("kept", "changed", "removed")]
    first = scenario.config
    with service.stream(kafka) as load, Running(first) as run:
        scenario.wait_for_positions(run, *names)
        service.write("kept", "changed")
        assert service.reload()["removed"] == [names[2]]
        released = scenario.ledgers[names[2]]
        assert not released.newest()["unregistered"], "its partitions are in Hive"
        other = tmp_path / "other"
        other.mkdir()
        taker = Scenario(
            other,
            f"{hive_database}_taker",
            kafka.bootstrap,
            on_hdfs(hdfs, hive_database),
            [service.all[names[2]]],
            hive={"url": f"hive://{hive.address}"},
        )
        with Running(taker.config) as second:
            second.wait_until(lambda: released.generation() == 2, "owner of the released table")
            scenario.wait_until_moved(run)
            service.write("kept", "changed", "removed")
            refused = service.command("reload")
            assert refused.code == 72 and refused.document["error"]["code"] == "reload.owned", refused.out
            service.write("kept", "changed")
            stored = load.end()
            taker.wait_until_at(second, {**_ends(stored, service.topics["removed"])})
            assert second.terminate() == 143, second.tail()
        scenario.wait_until_at(run, _ends(stored, service.topics["kept"], service.topics["changed"]))
        assert run.terminate() == 143, run.tail()
    scenario.assert_exactly_once(stored)
    taker.assert_exactly_once(stored)


def _ends(stored: Acknowledged, *topics: str) -> dict[tuple[str, int], int]:
    from tests.oracle.exact import ends_of

    return ends_of({place: value for place, value in stored.items() if place[0] in topics})

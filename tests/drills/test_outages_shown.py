"""How long it takes until each screen tells of an incident, and until none does any more, beside a busy and an idle table.

The long form has all incidents, the short one those that a row of docs/operations.md cannot do without. The figures become
the table there by `tests/drills/incident_table.py`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.drills.conftest import Figures
from tests.drills.form import form_asked_for
from tests.drills.screens import LONGEST, Screens, Signs
from tests.drills.stream import Stream, some_flights
from tests.harness.avro_flights import FIRST, Writer, flight_of
from tests.harness.program import Running, command
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce
from tests.services.schema_registry import SchemaRegistry

PER_SECOND = 200
SERVICE_SECONDS = 30.0
"""A service that is away is told within so many seconds, and gone so soon after it answers."""


class Place:
    """A run on services of its own: a busy table, one beside it that may be crowded out, an idle one, Avro, a doomed topic."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.hdfs = stack.enter_context(Hdfs(folder / "hdfs"))
        self.kafka = stack.enter_context(KafkaBroker(folder / "kafka"))
        self.hive = stack.enter_context(HiveServer(folder / "hive", self.hdfs.site_properties))
        self.registry = stack.enter_context(SchemaRegistry(folder / "registry"))
        for topic in ("busy", "idle", "avro", "doomed"):
            self.kafka.create_topic(topic, 2)
        self.hive.query("create database shown")
        writer = Writer(self.registry.register("avro-value", FIRST), FIRST)
        tables = [
            flights_in("shown.busy", "busy"),
            flights_in("shown.crowded", "busy"),
            payloads_in("shown.idle", "idle"),
            payloads_in("shown.doomed", "doomed"),
            flights_in("shown.avro", "avro", flight_of(writer), format="avro"),
        ]
        (port,) = free_ports(1)
        sections: dict[str, Any] = {
            "hive": {"url": f"hive://{self.hive.address}"},
            "registry": {"url": self.registry.url},
            "metrics": {"port": port},
        }
        storage = on_hdfs(self.hdfs, "shown")
        self.scenario = Scenario(folder, "shown", self.kafka.bootstrap, storage, tables, **sections)
        produce(self.kafka.bootstrap, "avro", writer.messages(flights()[:100]), 2)
        produce(self.kafka.bootstrap, "doomed", flights()[:100], 2)
        seed = form_asked_for().seed()
        self.load = stack.enter_context(
            Stream(self.kafka.bootstrap, {"busy": 2}, some_flights(seed), PER_SECOND)
        )
        self.run = stack.enter_context(Running(self.scenario.config))
        self.scenario.wait_for_positions(self.run)
        self.screens = Screens(self.run, self.scenario.config, port)

    @property
    def crowded(self) -> str:
        """The directory of the table that a quota may stop."""
        return self.scenario.location("shown.crowded").removeprefix(self.hdfs.namenode_url)

    def recreate_topic(self) -> None:
        """What the runbook says about a topic that was recreated; the service may take it from there."""
        self.kafka.create_topic("doomed", 2)
        self.run.wait_until(
            lambda: self.run.said("kafka.topic_recreated"), "stopped by the new topic", LONGEST
        )
        self.scenario.recover("--table", "shown.doomed", "--accept-gap", "doomed:*")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(tmp_path_factory.mktemp("shown"), stack)


def of_service(system: str, name: str, code: str = "") -> Signs:
    return Signs(
        text=rf"{name} has not answered since" + f"|{re.escape(code)}" * bool(code),
        log=(f"{name} does not answer", f"{name} answers again"),
        sample=f'kafka2hive_service_unavailable{{system="{system}"}}',
    )


STORAGE, KAFKA = of_service("storage", "the file system", "storage.unavailable"), of_service("kafka", "Kafka")
HIVE, REGISTRY = of_service("hive", "Hive"), of_service("registry", "the schema registry")
CROWDED = Signs(
    text=r"shown\.crowded.*quota",
    log=("shown.crowded is set aside", "shown.crowded goes on"),
    sample="kafka2hive_tables_set_aside",
)
DELETED = Signs(
    text=r"topic doomed is not in Kafka any more|kafka\.topic_recreated",
    log=("topic doomed is not in Kafka any more", "shown.doomed was repaired"),
)


@dataclass(frozen=True, slots=True)
class Incident:
    """`begin` and `end` do it to the place; when `end` returns, the service answers again."""

    name: str
    signs: Signs
    begin: Callable[[Place], object]
    end: Callable[[Place], object]
    in_short_form: bool = False


INCIDENTS = (
    Incident(
        "the NameNode hangs", STORAGE, lambda p: p.hdfs.namenode.suspend(), lambda p: p.hdfs.namenode.resume()
    ),
    Incident(
        "the NameNode is killed",
        STORAGE,
        lambda p: p.hdfs.namenode.kill(),
        lambda p: p.hdfs.start_namenode(),
        True,
    ),
    Incident("Kafka hangs", KAFKA, lambda p: p.kafka.service.suspend(), lambda p: p.kafka.service.resume()),
    Incident("Kafka is killed", KAFKA, lambda p: p.kafka.kill(), lambda p: p.kafka.start(), True),
    Incident(
        "HiveServer2 hangs", HIVE, lambda p: p.hive.service.suspend(), lambda p: p.hive.service.resume(), True
    ),
    Incident("HiveServer2 is killed", HIVE, lambda p: p.hive.kill(), lambda p: p.hive.start()),
    Incident(
        "the schema registry hangs",
        REGISTRY,
        lambda p: p.registry.service.suspend(),
        lambda p: p.registry.service.resume(),
    ),
    Incident(
        "the schema registry is killed",
        REGISTRY,
        lambda p: p.registry.kill(),
        lambda p: p.registry.start(),
        True,
    ),
    Incident(
        "a table's directory has no room",
        CROWDED,
        lambda p: p.hdfs.set_quota(p.crowded, names=1),
        lambda p: p.hdfs.clear_quota(p.crowded),
    ),
    Incident("a topic is deleted", DELETED, lambda p: p.kafka.delete_topic("doomed"), Place.recreate_topic),
)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "incident",
    [incident for incident in INCIDENTS if incident.in_short_form or form_asked_for().long],
    ids=lambda incident: incident.name,
)
def test_an_incident_is_told_and_gone_on_every_screen(
    place: Place, incident: Incident, figures: Figures
) -> None:
    signs, screens = incident.signs, place.screens
    place.run.wait_until(partial(screens.is_clean, signs), "well on all screens", LONGEST)
    told = screens.seconds(signs, lambda: incident.begin(place), begins=True)
    gone = screens.seconds(signs, lambda: incident.end(place), begins=False)
    for state, seconds in (("told", told), ("gone", gone)):
        figures(**{f"{name}_{state}_s": "never" if s is None else s for name, s in seconds.items()})
    assert None not in (*told.values(), *gone.values()), (told, gone)
    if "service_unavailable" in signs.sample:
        late = {
            name: s
            for name in ("metric", "log")
            for s in (told[name], gone[name])
            if (s or 0) > SERVICE_SECONDS
        }
        assert late == {}, "a service that is away"


@pytest.mark.timeout(3600)
def test_after_the_incidents_each_record_of_the_busy_tables_is_there_once(place: Place) -> None:
    place.run.wait_until(
        lambda: command("status", place.scenario.config).code == 0, "well in status", LONGEST
    )
    stored = place.scenario.end(place.run, place.load)
    place.scenario.assert_exactly_once(stored, "shown.busy", "shown.crowded")

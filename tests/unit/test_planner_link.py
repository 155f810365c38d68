"""The socket between Spark's reader process and the planner in the driver."""

import stat
import threading
from collections.abc import Iterator
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path

import orjson
import pytest

from kafka2hive.model.errors import Fenced, ServiceUnavailable
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.pipeline.planner_link import PlannerClient, PlannerFailed, PlannerLink
from kafka2hive.pipeline.values import TableTask, TaskPlan

PLAN = TaskPlan(0, (TableTask("db.t", "id", 1, 2, 3, (OffsetRange(TopicPartition("a", 0), 5, 9),)),))


class OneEpoch:
    """A planner that has one epoch to give; it can be told to fail, or to keep silent until `answers` is set."""

    def __init__(self) -> None:
        self.planned = 0
        self.pinned = 0
        self.error: Exception | None = None
        self.answers = threading.Event()
        self.answers.set()

    def position(self) -> int:
        self.answers.wait()
        return self.planned

    def plan(self, start: int) -> int:
        if self.error is not None:
            raise self.error
        self.planned = 1
        return 1

    def tasks(self, epoch: int) -> tuple[TaskPlan, ...]:
        return (PLAN,) if epoch == 1 else ()

    def target(self) -> None:
        self.pinned += 1


@pytest.fixture
def planner() -> OneEpoch:
    return OneEpoch()


@pytest.fixture
def link(planner: OneEpoch, tmp_path: Path) -> Iterator[PlannerLink]:
    link = PlannerLink(planner, tmp_path)
    yield link
    planner.answers.set()
    link.close()


@pytest.fixture
def client(link: PlannerLink) -> Iterator[PlannerClient]:
    client = PlannerClient(link.path)
    yield client
    client.close()


def test_every_call_reaches_the_planner(client: PlannerClient, planner: OneEpoch) -> None:
    assert client.position() == 0
    assert client.plan(0) == 1
    assert client.position() == 1
    client.target()
    assert planner.pinned == 1


def test_the_link_file_can_be_read_by_its_owner_only_and_goes_away(link: PlannerLink) -> None:
    assert stat.S_IMODE(link.path.stat().st_mode) == 0o600
    link.close()
    assert not link.path.exists()


def test_an_error_of_the_planner_is_kept_as_an_object_and_told_as_text(
    client: PlannerClient, planner: OneEpoch, link: PlannerLink
) -> None:
    planner.error = Fenced("ledger.fenced", "db.t belongs to another run")
    with pytest.raises(PlannerFailed, match=r"db\.t belongs to another run"):
        client.plan(0)
    assert link.kept.error is planner.error
    assert client.position() == 0


def test_a_planner_that_jumps_is_a_bug_and_not_an_epoch(
    client: PlannerClient, planner: OneEpoch, link: PlannerLink
) -> None:
    with pytest.raises(PlannerFailed, match="after epoch 7 comes 8, the planner said 1"):
        client.plan(7)
    assert isinstance(link.kept.error, ValueError)


def test_a_reader_that_starts_again_is_served(client: PlannerClient, link: PlannerLink) -> None:
    assert client.plan(0) == 1
    client.close()
    assert client.plan(0) == 1
    assert PlannerClient(link.path).plan(0) == 1


def test_a_connection_the_server_lost_is_opened_again(client: PlannerClient, link: PlannerLink) -> None:
    assert client.plan(0) == 1
    link.hang_up()
    assert client.plan(0) == 1


def test_who_does_not_know_the_key_is_refused_and_disturbs_nobody(
    client: PlannerClient, link: PlannerLink
) -> None:
    host, port, _ = orjson.loads(link.path.read_bytes())
    silent = Client((host, port))
    with pytest.raises((AuthenticationError, EOFError, ConnectionError)):
        Client((host, port), authkey=b"guessed")
    assert client.plan(0) == 1
    silent.close()


def test_a_driver_that_is_gone_is_said_to_be_unavailable(client: PlannerClient, link: PlannerLink) -> None:
    assert client.plan(0) == 1
    link.close()
    with pytest.raises(ServiceUnavailable, match=r"planner\.gone"):
        client.plan(0)


def test_a_driver_that_keeps_silent_is_not_waited_for_for_ever(link: PlannerLink, planner: OneEpoch) -> None:
    planner.answers.clear()
    with pytest.raises(ServiceUnavailable, match=r"planner\.silent"):
        PlannerClient(link.path, call_seconds=0.1).position()

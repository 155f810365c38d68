"""What the workers of a test run share is started once, by the process that deals the tests out."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.services.for_all import ServicesForAll, ask
from tests.services.service import Place
from tests.services.service_process import ServiceFailed
from tests.services.shared import SharedServices


class Started(SharedServices):
    """As one that has started a Kafka, and no HDFS."""

    def __init__(self, folder: Callable[[str], Path]) -> None:
        self.folder = folder("kafka")
        self.begun: Counter[str] = Counter()
        self.stopped = False

    def begin(self, needed: Collection[str]) -> None:
        self.begun.update(needed)

    def kafka(self) -> SimpleNamespace:  # type: ignore[override]  # all that is asked of a broker
        return SimpleNamespace(place=(self.folder, (9092, 9093)))

    def hdfs(self) -> SimpleNamespace:  # type: ignore[override]
        raise ServiceFailed("namenode ended while it was starting")

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def made() -> list[Started]:
    return []


@pytest.fixture
def services(made: list[Started]) -> Iterator[ServicesForAll]:
    def make(folder: Callable[[str], Path]) -> Started:
        made.append(Started(folder))
        return made[-1]

    served = ServicesForAll(make)
    yield served
    served.stop()


def test_all_workers_are_told_of_one_broker(services: ServicesForAll, made: list[Started]) -> None:
    assert made == [], "nobody has asked"
    with ThreadPoolExecutor(4) as workers:
        places: list[Place] = list(workers.map(lambda _: ask(services.address, "kafka"), range(8)))
    assert len(made) == 1 and made[0].begun == {"kafka": 8}
    assert set(places) == {(made[0].folder, (9092, 9093))} and made[0].folder.is_dir()


def test_every_worker_hears_why_a_service_did_not_start(services: ServicesForAll) -> None:
    for _ in range(2):
        with pytest.raises(ServiceFailed, match="ended while it was starting"):
            ask(services.address, "hdfs")


def test_what_was_started_ends_with_the_run(made: list[Started]) -> None:
    def make(folder: Callable[[str], Path]) -> Started:
        made.append(Started(folder))
        return made[-1]

    served = ServicesForAll(make)
    ask(served.address, "kafka")
    served.stop()
    assert made[0].stopped and not made[0].folder.exists()


def test_a_run_that_asks_for_nothing_starts_nothing(services: ServicesForAll, made: list[Started]) -> None:
    services.stop()
    assert made == []

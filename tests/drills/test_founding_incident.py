"""The incident that this project was made for: the NameNode is away for longer than its retry cache lives.

Once the active one is dead for 12 minutes and comes back, once it fails over after half an hour. Then every delete and every
rename of the time before arrives again. A dump through the incident and one that nothing disturbed must be equal row by row,
while a writer that deletes before it writes loses what it had committed.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hdfs_native import Client, WriteOptions

from tests.drills.conftest import Figures
from tests.drills.delete_before_write import DeleteBeforeWrite, content, lost_delete
from tests.drills.form import Form, form_asked_for
from tests.drills.stream import Stream, some_flights
from tests.drills.supervised import Supervised
from tests.drills.test_namenode_failovers import is_commit, wake
from tests.harness.clock import MovedClock
from tests.harness.namenode_proxy import Change, NameNodeProxy
from tests.harness.scenario import Scenario, Storage, flights_in, on_hdfs
from tests.oracle.data_files import whole_table
from tests.oracle.exact import PLACE_COLUMNS
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hdfs_ha import Failover, HdfsHa
from tests.services.kafka_broker import KafkaBroker

CACHE_MINUTES, DEAD_MINUTES, FAILOVER_MINUTES = 10, 12, 30
"""The first is Hadoop's default."""
DEAD_MINUTE = form_asked_for().pick(6.5, 60.0)
FAILOVER_MINUTE = form_asked_for().pick(2.5, 10.0)
"""Seconds that a minute of the incident takes: at least so many that the product gives up calls that hang (60 s)."""

WAYS = form_asked_for().pick(["hangs"], ["hangs", "killed"])


@dataclass(frozen=True, slots=True)
class Place:
    """NameNodes by number behind proxies; `properties` lead a client through these, `direct` makes one past them."""

    uri: str
    proxies: Mapping[int, NameNodeProxy]
    properties: Mapping[str, str]
    direct: Callable[[], Client]
    minute: float

    def client(self) -> Client:
        """One through the proxies."""
        return Client(self.uri, dict(self.properties))

    def history(self) -> list[Change]:
        """Every delete and rename asked for so far."""
        changes = [change for proxy in self.proxies.values() for change in proxy.changes()]
        return [change for change in changes if change.method in ("delete", "rename2")]

    def outlive_the_cache(self) -> None:
        """Wait until the NameNode's answers of now are over; they leave the cache when others come in."""
        time.sleep(CACHE_MINUTES * self.minute + 0.5)
        for _ in range(2):
            self.direct().create("/other-work", WriteOptions(overwrite=True)).close()


def cache(minute: float) -> dict[str, str]:
    """Hadoop's ten minutes."""
    return {"dfs.namenode.retrycache.expirytime.millis": str(round(CACHE_MINUTES * minute * 1000))}


def proxy_before(address: str) -> NameNodeProxy:
    return NameNodeProxy(int(address.rpartition(":")[2]))


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[tuple[Hdfs, Place]]:
    """One NameNode behind a proxy."""
    with (
        Hdfs(tmp_path / "hdfs", properties=cache(DEAD_MINUTE)) as hdfs,
        proxy_before(hdfs.namenode_url) as proxy,
    ):
        yield hdfs, Place(proxy.url, {1: proxy}, hdfs.client_properties, hdfs.client, DEAD_MINUTE)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[HdfsHa, Place]]:
    """Two NameNodes, each behind a proxy."""
    with HdfsHa(tmp_path / "hdfs", own=cache(FAILOVER_MINUTE)) as hdfs, ExitStack() as stack:
        names = {number: f"dfs.namenode.rpc-address.ha1.nn{number}" for number in (1, 2)}
        proxies = {
            number: stack.enter_context(proxy_before(hdfs.client_properties[name]))
            for number, name in names.items()
        }
        through = {names[number]: proxy.url.removeprefix("hdfs://") for number, proxy in proxies.items()}
        properties = hdfs.client_properties | through
        yield hdfs, Place(hdfs.namenode_url, proxies, properties, hdfs.client, FAILOVER_MINUTE)


class Dumps:
    """A dump through the incident, and one of the same topic that nothing disturbs."""

    def __init__(self, folder: Path, topic: str, kafka: KafkaBroker, place: Place, beside: Hdfs) -> None:
        kafka.create_topic(topic, 4)
        self._topic, self._bootstrap, self._place = topic, kafka.bootstrap, place
        (folder / "through").mkdir()
        (folder / "beside").mkdir()
        storage = Storage(f"{place.uri}/{topic}", HdfsTree(place.direct()), place.properties)
        self._table, other = f"{topic}.flights", f"{topic}_beside"
        tables = [flights_in(self._table, topic)]
        self.through = Scenario(folder / "through", topic, kafka.bootstrap, storage, tables)
        self.beside = Scenario(folder / "beside", other, kafka.bootstrap, on_hdfs(beside, other), tables)

    def compared(
        self, seed: int, incident: Callable[[Supervised], int], env: Mapping[str, str] | None = None
    ) -> dict[str, int]:
        """Dump through the incident, which gives the NameNode that late calls reach; compare; gives figures."""
        place, folder, per_second = self._place, f"/{self._topic}-other-writer", 60
        DeleteBeforeWrite(place.direct(), folder).attempt(b"left by a job that was killed")
        late = lost_delete(place.proxies[1], place.client, folder)
        writer = f"{folder}/part-0"
        with (
            Stream(self._bootstrap, {self._topic: 4}, some_flights(seed, per_second), per_second) as load,
            Supervised(self.through.config, env=env) as service,
        ):
            service.wait_for_epochs(2)
            service.run.kill_driver()  # the next one sweeps: deletes
            service.wait_for_epochs(2)
            assert content(place.direct(), writer) == b"rows", "the other writer had committed them"
            service.wait_for_record(is_commit, "a commit")
            before = place.history()
            receiver = place.proxies[incident(service)]
            service.wait_for_epochs(2, 1800)
            answers = [(change.method, receiver.repeat(change)) for change in before]
            service.wait_for_epochs(2)
            place.outlive_the_cache()
            everything = place.history()
            answers += [(change.method, receiver.repeat(change)) for change in everything]
            stored = self.through.end(service, load)
        assert receiver.repeat(late) == ""
        assert content(place.direct(), writer) is None, (
            "the late delete has not taken what a simpler design commits"
        )
        self.through.recover()
        answers += [(change.method, receiver.repeat(change)) for change in place.history()]
        self.through.verify("--contents")
        self.beside.run_once()
        for scenario in (self.through, self.beside):
            assert scenario.assert_exactly_once(stored)[self._table].total() == len(stored)
        ours, others = (
            whole_table(scenario.tree, scenario.location(self._table), PLACE_COLUMNS)
            for scenario in (self.through, self.beside)
        )
        assert ours.num_rows == len(stored) and ours.equals(others), "the two dumps differ"
        asked = Counter(method for method, _ in answers)
        done = Counter(method for method, error in answers if not error)
        assert asked["delete"] and asked["rename2"] > done["rename2"], f"{asked}, {done}"
        return {
            "rows_compared": ours.num_rows,
            "late_deletes": asked["delete"],
            "late_renames": asked["rename2"],
            "late_renames_carried_out": done["rename2"],
            "longest_without_an_epoch_s": round(service.longest_silence()),
            "restarts": service.restarts,
            "ambiguous_answers": len(service.unclear),
        }


def wait(service: Supervised, seconds: float) -> None:
    """Nothing answers; the service is started again if it ends."""
    end = time.monotonic() + seconds
    service.wait_until(lambda: time.monotonic() >= end, "over", seconds + 600, pause=0.5)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("way", WAYS)
def test_a_namenode_dead_for_12_minutes_that_comes_back_costs_no_row(
    way: str,
    alone: tuple[Hdfs, Place],
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    """A hung one carries out late what lies in its sockets; a killed one reads its answers again from its edits."""
    cluster, place = alone
    seconds = DEAD_MINUTES * DEAD_MINUTE

    def incident(service: Supervised) -> int:
        if way == "killed":
            cluster.namenode.kill()
            wait(service, seconds)
            cluster.start_namenode()
        else:
            cluster.namenode.suspend()
            wait(service, seconds)
            cluster.namenode.resume()
        return 1

    dumps = Dumps(tmp_path, unique, kafka, place, hdfs)
    figures(dead_s=seconds, **dumps.compared(form.seed(), incident))


def half_an_hour(service: Supervised, clock: MovedClock) -> None:
    """Minute by minute: the program's wall clock moves on by what the wait leaves of each."""
    for minute in range(1, FAILOVER_MINUTES + 1):
        wait(service, FAILOVER_MINUTE)
        clock.move(round(minute * (60 - FAILOVER_MINUTE)))


@pytest.mark.timeout(7200)
def test_a_failover_after_half_an_hour_costs_no_row(
    pair: tuple[HdfsHa, Place],
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    """The half hour passes by the program's wall clock, and a NameNode's ten minutes are a third of it, as they would be."""
    cluster, place = pair
    clock = MovedClock(tmp_path)

    def incident(service: Supervised) -> int:
        old = cluster.active
        new = cluster.failover(Failover.STOP, partial(half_an_hour, service, clock))
        wake(cluster, old)
        cluster.revive(old)
        return new

    dumps = Dumps(tmp_path, unique, kafka, place, hdfs)
    seconds = FAILOVER_MINUTES * FAILOVER_MINUTE
    figures(away_s=seconds, **dumps.compared(form.seed(), incident, clock.env))

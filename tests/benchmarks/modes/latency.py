"""From the producer's acknowledgement to the moment a Hive query shows the record, by SQL, with a bucket a minute.

A service runs over HDFS and HiveServer2; a record is sent every 50 ms. One connection asks again and again for all
rows of the last four minutes; a record is visible when a query that shows it has ended, so the query's own time counts.
A new minute is a new Hive partition, so registering counts, too.
"""

import datetime
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import orjson
from confluent_kafka import Message, Producer
from pyhive import hive

from tests.benchmarks.aims import LATENCY, Rows
from tests.benchmarks.contestants import PROGRAM, Place, environment, write_map
from tests.benchmarks.modes.dumps import read_log
from tests.benchmarks.peers.shape import Shape
from tests.benchmarks.room import Room
from tests.services.service_process import ServiceProcess

_TRIGGERS = {1: 60.0, 5: 60.0, 30: 120.0}  # seconds: how long records are sent
_PAUSE = 0.05
PARTITIONS = 4
SHAPE = Shape({"id": "bigint", "at": "timestamp"}, "at", "hour")
_JUDGED = 1


def measure(room: Room) -> dict[str, Any]:
    """p50 and p99 with the trigger that has an aim."""
    return _measured(room, {_JUDGED: _TRIGGERS[_JUDGED]})


def measure_slower(room: Room) -> dict[str, Any]:
    """The same with the slower ones."""
    return _measured(room, {trigger: s for trigger, s in _TRIGGERS.items() if trigger != _JUDGED})


def _measured(room: Room, triggers: dict[int, float]) -> dict[str, Any]:
    rows, percentiles = Rows("latency"), {}
    for trigger, seconds in triggers.items():
        waited = sorted(_latencies(room, trigger, seconds))
        p50, p99 = statistics.median(waited), percentile(waited, 0.99)
        percentiles[str(trigger)] = {"p50": p50, "p99": p99, "max": waited[-1], "records": len(waited)}
        for name, value in (("p50", p50), ("p99", p99)):
            aim = LATENCY[name] if trigger == _JUDGED else None
            rows.add(f"trigger {trigger} s, {len(waited):,} records, {name}", f"{value:.1f} s", value, aim)
        rows.add(f"trigger {trigger} s, worst", f"{waited[-1]:.1f} s")
    return {"rows": rows.made, "seconds": percentiles}


def percentile(waited: list[float], share: float) -> float:
    """Of waits in order."""
    return waited[int(share * (len(waited) - 1))]


def _latencies(room: Room, trigger: int, seconds: float) -> list[float]:
    """One service, one topic; gives the wait of every record that was acknowledged."""
    folder = room.new_folder()
    topic = folder.name
    room.kafka().create_topic(topic, PARTITIONS)
    server, table = room.hive(), f"bench.records_{trigger}"
    server.query("create database if not exists bench")
    uri = f"{room.hdfs().namenode_url}/{folder.name}"
    config = write_map(
        Place(folder, uri, room.kafka().bootstrap, topic, SHAPE),
        {
            "table": table,
            "bucket": {"field": "at", "path": "dt=%Y%m%d%H%M"},
            "flush": {"interval": f"{trigger}s"},
        },
        trigger=f"{trigger}s",
        hive={"url": f"hive://{server.address}"},
    )
    service = ServiceProcess("service", [*PROGRAM, str(config)], folder, environment)
    service.start()
    try:
        sender = Sender(room.kafka().bootstrap, topic)
        sender.send(PARTITIONS)  # the first epoch of a process is slow, and makes the Hive table
        service.wait_until(lambda: bool(read_log(service.output).epochs), "past its first epoch", 300)
        watcher = Watcher(server.connect(), table)
        service.wait_until(watcher.sees_anything, "in Hive", 300)
        return watcher.run(sender, seconds)
    finally:
        service.terminate(60)


class Sender:
    """Sends numbered records; `acknowledged` is when the broker had each of them."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: dict[int, float] = {}
        self._topic = topic
        self._count = 0
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 3})

    def send(self, records: int) -> None:
        """So many at once, and wait for the broker."""
        for _ in range(records):
            number, self._count = self._count, self._count + 1
            now = datetime.datetime.now(datetime.UTC)
            value = orjson.dumps({"id": number, "at": f"{now:%Y-%m-%dT%H:%M:%S.%f}Z"})

            def stored(error: Any, message: Message, number: int = number) -> None:
                assert error is None, error
                self.acknowledged[number] = time.monotonic()

            self._producer.produce(self._topic, value, partition=number % PARTITIONS, on_delivery=stored)
        self._producer.flush(30)

    def keep_sending(self, seconds: float, is_over: Callable[[], bool]) -> None:
        """One every `_PAUSE` seconds, for so long or until it `is_over`; at least one."""
        until = time.monotonic() + seconds
        self.send(1)
        while time.monotonic() < until and not is_over():
            time.sleep(_PAUSE)
            self.send(1)


class Watcher:
    """Asks Hive which numbers there are."""

    def __init__(self, connection: hive.Connection, table: str) -> None:
        self._cursor = connection.cursor()
        self._table = table

    def sees_anything(self) -> bool:
        """Hive is told of a table and its partitions in the background: they may be missing at first."""
        try:
            return bool(self._numbers())
        except hive.OperationalError:
            return False

    def run(self, sender: Sender, seconds: float, is_over: Callable[[], bool] = lambda: False) -> list[float]:
        """Watch until every record sent within `seconds`, or until it `is_over`, is there.

        Gives the wait of each. Raises AssertionError when one does not come.
        """
        began = time.monotonic()
        first = len(sender.acknowledged)
        thread = threading.Thread(target=sender.keep_sending, args=(seconds, is_over), daemon=True)
        thread.start()
        seen: dict[int, float] = {}
        while thread.is_alive() or len(seen) < len(sender.acknowledged) - first:
            assert time.monotonic() < began + seconds + 180, f"{len(seen)} of {len(sender.acknowledged)} came"
            for number in self._numbers():
                if number >= first:
                    seen.setdefault(number, time.monotonic())
        thread.join()
        return [seen[number] - sent for number, sent in sender.acknowledged.items() if number >= first]

    def _numbers(self) -> list[int]:
        """All numbers of the last four minutes: no record may need longer."""
        since = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=4)
        self._cursor.execute(f"select id from {self._table} where dt >= '{since:%Y%m%d%H%M}'")
        return [row[0] for row in self._cursor.fetchall()]

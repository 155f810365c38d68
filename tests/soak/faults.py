"""The faults of a soak: each hurts a process of the service or of what it needs, and leaves it well again."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from tests.drills.spark_workers import kill_worker, python_workers
from tests.drills.supervised import Supervised
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.service_process import ServiceProcess

RUN_KILLED = "run_killed"
RUN_KILL_SHARE = 0.03
"""The share of faults that end the run: growth shows only in runs that last."""


@dataclass(slots=True)
class Faults:
    """Draws one fault after another. `chance` decides which, and how long each lasts."""

    chance: random.Random
    service: Supervised
    kafka: KafkaBroker
    hdfs: Hdfs
    hive: HiveServer

    def strike(self) -> str:
        """Carry out the next fault; gives its name."""
        kinds = self._kinds()
        others = sorted(kinds.keys() - {RUN_KILLED})
        name = RUN_KILLED if self.chance.random() < RUN_KILL_SHARE else self.chance.choice(others)
        kinds[name]()
        return name

    def _kinds(self) -> dict[str, Callable[[], None]]:
        return {
            RUN_KILLED: self.service.run.kill_driver,
            "worker_killed": self._kill_worker,
            "broker_killed": lambda: self._bring_back(self.kafka.kill, self.kafka.start),
            "broker_restarted": lambda: self._bring_back(self.kafka.stop, self.kafka.start),
            "broker_hangs": lambda: self._hang(self.kafka.service),
            "namenode_killed": lambda: self._bring_back(self.hdfs.namenode.kill, self.hdfs.start_namenode),
            "namenode_hangs": lambda: self._hang(self.hdfs.namenode),
            "datanode_killed": lambda: self._bring_back(self.hdfs.datanode.kill, self.hdfs.start_datanode),
            "safe_mode": self._safe_mode,
            "hive_killed": lambda: self._bring_back(self.hive.kill, self.hive.start),
            "hive_hangs": lambda: self._hang(self.hive.service),
        }

    def _bring_back(self, end: Callable[[], None], start: Callable[[], None]) -> None:
        end()
        time.sleep(self.chance.uniform(0, 5))
        start()

    def _hang(self, process: ServiceProcess) -> None:
        process.suspend()
        time.sleep(self.chance.uniform(2, 25))
        process.resume()

    def _safe_mode(self) -> None:
        self.hdfs.dfsadmin("-safemode", "enter")
        time.sleep(self.chance.uniform(1, 10))
        self.hdfs.dfsadmin("-safemode", "leave")

    def _kill_worker(self) -> None:
        """Nothing if none is at work: an idle service has no workers."""
        workers = python_workers([self.service.run.pid])
        if workers:
            try:
                kill_worker(self.chance.choice(workers))
            except psutil.NoSuchProcess:
                return  # it has ended by itself

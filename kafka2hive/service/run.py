"""`kafka2hive run`: the service. Looks, takes over, rolls forward, starts the query, and ends in good order."""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.alive import BEAT_SECONDS, Beat
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ServiceUnavailable
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.observe.notify import Notifier
from kafka2hive.service.catalogue import Catalogue
from kafka2hive.service.dump import Dump
from kafka2hive.service.holding import Holding
from kafka2hive.service.identity import new_owner, process_of
from kafka2hive.service.judge import Judge
from kafka2hive.service.kafka_view import KafkaView
from kafka2hive.service.registering import NoHive, hive_registrar
from kafka2hive.service.report import Reporter
from kafka2hive.service.settings import task_settings
from kafka2hive.service.table import Table
from kafka2hive.service.watching import EpochWatcher, GroupFollower
from kafka2hive.service.witness import Witness
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """How to run: `once` dumps what is there and ends, `take_over` fences live owners."""

    once: bool = False
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """Why the run ended; `set_aside` names the tables that could not go on, with their errors."""

    exit_code: ExitCode
    error: Exception | None
    set_aside: tuple[tuple[str, Kafka2HiveError], ...]

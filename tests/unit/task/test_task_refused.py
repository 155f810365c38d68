"""A worker that Kafka refuses: its tables soon fail with the reason, and nothing is written."""

import socket
import time
from dataclasses import replace

import pytest

from kafka2hive.model.errors import AccessRefused, ServiceUnavailable
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.delivery_count import CountedConsumer
from kafka2hive.task.fetch.fetch import Fetch, RangeRequest, TableRead
from kafka2hive.task.fetch.records import MessageBatch
from kafka2hive.task.run import run_task
from tests.harness.fake_consumer import FakeConsumer, log_of
from tests.harness.task_files import offsets, table_settings, table_task, task_settings


class Refused(FakeConsumer):
    """A client that brokers refuse; if `certain` is False, they may be restarting."""

    def __init__(self, certain: bool) -> None:
        super().__init__({("t", 0): log_of(end=0)})
        self._is_certain = certain

    def consume(self, count: int, seconds: float) -> MessageBatch:
        time.sleep(0.01)
        return MessageBatch([])

    def refusal(self, since: float, *, certain: bool) -> AccessRefused | None:
        error = AccessRefused("kafka.credentials", "no way into Kafka at b:1: no", "correct it")
        return error if self._is_certain or not certain else None


class Throttled(FakeConsumer):
    """A client whose broker announces delays of `delay` seconds, and sends the records once `ends` seconds are over."""

    def __init__(self, delay: float, ends: float) -> None:
        super().__init__({("t", 0): log_of(0, 1, 2, 3, 4)})
        self._delay = delay
        self._ends_at = time.monotonic() + ends

    def consume(self, count: int, seconds: float) -> MessageBatch:
        if time.monotonic() < self._ends_at:
            self.longest_delay = self._delay
            time.sleep(0.01)
            return MessageBatch([])
        return super().consume(count, seconds)


def test_a_delay_that_a_broker_announces_is_no_stall() -> None:
    wave = [RangeRequest("db.t", offsets("t", 0, 0, 5))]
    consumer = CountedConsumer(Throttled(delay=60.0, ends=1.0))
    consumer.expect([request.range for request in wave])
    events = list(Fetch(consumer, wave, 0.2))
    assert (
        TableRead("db.t") in events and sum(len(event) for event in events if isinstance(event, Chunk)) == 5
    )


def test_a_quota_that_lets_nothing_through_is_named() -> None:
    wave = [RangeRequest("db.t", offsets("t", 0, 0, 5))]
    consumer = CountedConsumer(Throttled(delay=0.1, ends=3_600.0))
    consumer.expect([request.range for request in wave])
    with pytest.raises(ServiceUnavailable, match="a quota makes brokers delay") as raised:
        list(Fetch(consumer, wave, 0.2))
    assert raised.value.code == "kafka.throttled" and "consumer_byte_rate" in raised.value.remedy


def seconds_until_told(certain: bool, stall_seconds: float) -> float:
    wave = [RangeRequest("db.t", offsets("t", 0, 0, 5))]
    began = time.monotonic()
    with pytest.raises(AccessRefused):
        list(Fetch(CountedConsumer(Refused(certain)), wave, stall_seconds))
    return time.monotonic() - began


def test_a_certain_refusal_ends_the_fetch_at_half_the_time_and_an_uncertain_one_at_its_end() -> None:
    for stall_seconds in (1.0, 4.0, 16.0):  # on a busy machine half a second may pass between two looks
        told = seconds_until_told(certain=True, stall_seconds=stall_seconds)
        assert told >= stall_seconds / 2
        if told < stall_seconds:
            break
    else:
        raise AssertionError("told no sooner than an uncertain one")
    assert seconds_until_told(certain=False, stall_seconds=1.0) >= 1.0


def test_tables_of_a_worker_without_the_maps_file_fail_with_the_reason_and_the_host() -> None:
    tables = (table_settings("db.t"), table_settings("db.u"))
    properties = (
        ("bootstrap.servers", "127.0.0.1:1"),
        ("security.protocol", "ssl"),
        ("ssl.ca.location", "/only/on/the/driver.pem"),
    )
    settings = replace(task_settings("", *tables, stall_seconds=60.0), kafka=properties)
    plan = TaskPlan(3, tuple(table_task(name, offsets("t", 0, 0, 1)) for name in ("db.t", "db.u")))
    manifests = list(run_task(plan, settings))
    assert [manifest.table for manifest in manifests] == ["db.t", "db.u"]
    for manifest in manifests:
        assert manifest.failure is not None and manifest.failure.code == "kafka.properties"
        assert manifest.failure.message.startswith(f"on {socket.gethostname()}: librdkafka refuses")
        assert manifest.task == 3 and not manifest.files

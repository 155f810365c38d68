"""A signal interrupts the main thread while it waits for a Kafka that accepts connections and never answers."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.service.run.signals import Interrupted
from tests.harness.waiting import wait_until


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Return the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def admin(silent: socket.socket, timeout_seconds: float) -> KafkaAdmin:
    bootstrap = f"127.0.0.1:{silent.getsockname()[1]}"
    return KafkaAdmin(KafkaOptions((("bootstrap.servers", bootstrap),), "g"), timeout_seconds)


def is_question(thread: threading.Thread) -> bool:
    return thread.name == "kafka-request"


def raise_interrupted(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted


def test_a_signal_ends_the_wait_for_a_silent_kafka_while_its_question_goes_on(silent: socket.socket) -> None:
    before_it, questions = set(threading.enumerate()), list[threading.Thread]()

    def asked_now() -> list[threading.Thread]:
        """Without those that another test has left to their end."""
        return [thread for thread in threading.enumerate() if is_question(thread) and thread not in before_it]

    def signal_once_asked() -> None:
        try:
            wait_until(lambda: bool(asked_now()), "asked", 240)
        finally:
            questions.extend(asked_now())
            os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, raise_interrupted)
    asked = threading.Thread(target=signal_once_asked)
    asked.start()
    try:
        with pytest.raises(Interrupted):
            admin(silent, 300.0).cluster()
        assert [question.is_alive() for question in questions] == [True], "it waited for the question's end"
    finally:
        asked.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("in_main", [True, False])
def test_a_silent_kafka_is_unavailable_after_its_time_limit(silent: socket.socket, in_main: bool) -> None:
    raised: list[ServiceUnavailable] = []

    def ask() -> None:
        with pytest.raises(ServiceUnavailable) as error:
            admin(silent, 0.2).cluster()
        raised.append(error.value)

    if in_main:
        ask()
    else:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert raised[0].code == "kafka.unavailable"

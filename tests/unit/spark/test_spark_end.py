"""The output when Spark ends."""

import socket
import time
from dataclasses import dataclass
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # it ships no types
from pyspark.accumulators import _start_update_server

from kafka2hive.spark.internals import silence_accumulators
from kafka2hive.spark.session import stop_session

SECRET = "0123456789"


@dataclass
class Session:
    """A session for `stop_session` whose JVM is gone when its context is stopped."""

    jvm: socket.socket
    _accumulatorServer: Any  # noqa: N815  pyspark's name

    @property
    def sparkContext(self) -> "Session":  # noqa: N802  pyspark's name
        return self

    def setLogLevel(self, _: str) -> None:  # noqa: N802  pyspark's name
        pass

    def stop(self) -> None:
        self.jvm.close()
        raise Py4JNetworkError("gone")


def test_a_jvm_that_is_gone_first_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    server = _start_update_server(SECRET, is_unix_domain_sock=False)
    jvm = socket.create_connection(server.server_address)
    jvm.sendall(SECRET.encode() + bytes(4))
    assert jvm.recv(1) == b"\1", "it has taken the updates, none, and waits for more"
    session = Session(jvm, server)
    silence_accumulators(session)
    stop_session(session)
    until = time.monotonic() + 240
    while server.socket.fileno() != -1 and time.monotonic() < until:
        time.sleep(0.01)
    assert server.socket.fileno() == -1
    assert capfd.readouterr() == ("", "")

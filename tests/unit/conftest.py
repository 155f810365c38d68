"""Kafka for unit tests: a mock broker, and no long waits for a Kafka that is not there."""

from collections.abc import Iterator

import pytest

from kafka2hive.kafka.port import Kafka
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import NOBODY
from tests.harness.mock_broker import Broker

_SECONDS = 0.5


@pytest.fixture(autouse=True, scope="session")
def nobody_is_asked_for_long() -> Iterator[None]:
    """Where a map's Kafka is `NOBODY`, the answer is no after half a second instead of five or ten."""
    ask = Wiring.kafka

    def kafka(wiring: Wiring, timeout_seconds: float = 30.0, *, shared_timeout: bool = False) -> Kafka:
        is_away = ("bootstrap.servers", NOBODY) in wiring.map.kafka.properties
        return ask(wiring, _SECONDS if is_away else timeout_seconds, shared_timeout=shared_timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Wiring, "kafka", kafka)
        yield


@pytest.fixture
def broker() -> Broker:
    return Broker()

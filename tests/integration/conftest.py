"""What the tests of whole dumps share: one topic with all the flights, read by each of them."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.flights_topic import FlightsTopic
    from tests.services.kafka_broker import KafkaBroker


@pytest.fixture(scope="session")
def flights_topic(kafka: "KafkaBroker") -> "FlightsTopic":
    """All 336,776 flights over four partitions. Do not write to it, do not delete from it."""
    from tests.harness.flights_topic import make_flights_topic

    return make_flights_topic(kafka, "all-flights")

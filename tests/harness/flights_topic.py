"""The topic that holds all flights."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.services.produce import Place, produce

if TYPE_CHECKING:
    from tests.services.kafka_broker import KafkaBroker


@dataclass(frozen=True, slots=True)
class FlightsTopic:
    """`stored` is what the broker acknowledged: the payload at each place."""

    name: str
    stored: dict[Place, bytes | None]


def make_flights_topic(kafka: "KafkaBroker", name: str) -> FlightsTopic:
    """All 336,776 flights over four partitions."""
    from tests.services.flights import flights

    kafka.create_topic(name, 4)
    return FlightsTopic(name, produce(kafka.bootstrap, name, flights(), 4))

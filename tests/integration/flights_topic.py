"""The topic that holds all flights."""

from dataclasses import dataclass

from tests.services.produce import Place


@dataclass(frozen=True, slots=True)
class FlightsTopic:
    """`stored` is what the broker acknowledged: the payload at each place."""

    name: str
    stored: dict[Place, bytes | None]

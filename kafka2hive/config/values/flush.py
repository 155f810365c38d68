"""When a table is due for an epoch."""

from dataclasses import dataclass
from typing import Annotated

from kafka2hive.config.values.key import Duration, Key, Size
from kafka2hive.config.values.units import MIB


@dataclass(frozen=True, slots=True)
class Flush:
    """When a table is due: at whichever comes first."""

    interval_seconds: Annotated[Duration, Key("Time since the table's last epoch.", name="interval")] = 60.0
    bytes: Annotated[Size, Key("Bytes that wait in Kafka for this table.")] = 128 * MIB

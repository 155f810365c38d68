"""The keys and values of one table's complete partitions."""

from dataclasses import dataclass
from typing import Annotated

from kafka2hive.config.values.key import Bounds, Duration, Key
from kafka2hive.config.values.plugin import PluginOptions

SuccessFile = Annotated[
    str,
    Bounds(
        pattern=r"[_.][A-Za-z0-9._-]{1,99}",
        expected="expected a name that Hive does not see: _ or ., then letters, digits, ., _ and -",
    ),
]


@dataclass(frozen=True, slots=True)
class Completion:
    """When a Hive partition is complete, and what tells readers so."""

    delay_seconds: Annotated[
        Duration,
        Key(
            "Time after a partition's end by which its records are in Kafka; late records make "
            "another certificate at most that often.",
            name="delay",
        ),
    ] = 3600.0
    success_file: Annotated[
        SuccessFile | None,
        Key(
            "Empty file that is made in a complete partition beside its certificate; `null`: none.",
            written="name, `null`",
        ),
    ] = "_SUCCESS"
    plugin: Annotated[
        PluginOptions | None,
        Key(
            "Decides instead, [above](#plugin): an entry point of `kafka2hive.completion_policies`, "
            "which is told `delay`."
        ),
    ] = None

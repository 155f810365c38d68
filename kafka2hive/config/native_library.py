"""The compiled library (native/) of this environment, if there is one that fits, and how that is told. Loads nothing else."""

from dataclasses import dataclass
from typing import Any

from kafka2hive.model.errors import ConfigError

try:
    import kafka2hive_native as _found
except ImportError:
    _found = None

INTERFACE = 2
"""What this program expects of the library's functions."""
SLOWER = "the same outcome, but JSON takes 40 times as long or more, Avro and Protobuf more than 100 times"

FOUND: Any = _found
"""Whatever is installed under the library's name."""


def fits(library: Any) -> bool:
    """Whether there is a library, and one that this program knows how to call."""
    return library is not None and library.INTERFACE == INTERFACE


LIBRARY: Any = FOUND if fits(FOUND) else None
"""The library to call; None: everything is decoded by the exact decoders, in Python."""


@dataclass(frozen=True, slots=True)
class DecoderInUse:
    """`version` of the compiled library; empty: it tells none. `reason`: why it is not used."""

    is_compiled: bool
    version: str = ""
    reason: str = ""

    def __str__(self) -> str:
        if self.is_compiled:
            return f"compiled {self.version or '(an older one)'}"
        return f"Python fallback ({self.reason}): {SLOWER}"


def decoder_in_use(library: Any = FOUND) -> DecoderInUse:
    """`library`: what this environment has of kafka2hive_native, None without."""
    if library is None:
        return DecoderInUse(False, reason="kafka2hive-native is not installed")
    version = str(getattr(library, "VERSION", ""))
    if not fits(library):
        return DecoderInUse(False, version, "the installed kafka2hive-native does not fit this kafka2hive")
    return DecoderInUse(True, version)


def avro_needs_library() -> ConfigError:
    """Avro files are written by the compiled library alone."""
    return ConfigError(
        "native.missing",
        "Avro files are written by the compiled library kafka2hive-native, which is not installed"
        " or does not fit this kafka2hive",
        "pip install the wheel of kafka2hive-native (docs/cluster.md), or use another writer.format",
    )

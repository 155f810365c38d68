"""Whether this environment has a compiled library (native/) that fits this program, and if not, why."""

from dataclasses import dataclass
from typing import Any

from kafka2hive.model.errors import ConfigError

try:
    import kafka2hive_native as _installed
except ImportError:
    _installed = None

INTERFACE = 13
"""The version of the library's functions that this program calls."""
SLOWER = "the same outcome, but JSON takes 40 times as long or more, Avro and Protobuf more than 100 times"

INSTALLED: Any = _installed
"""The installed library, of any interface; None if there is none."""


def fits(library: Any) -> bool:
    """Return whether this program can call the library; False for None."""
    return library is not None and library.INTERFACE == INTERFACE


LIBRARY: Any = INSTALLED if fits(INSTALLED) else None
"""The library to call; None if everything must be decoded by the exact decoders in Python."""


@dataclass(frozen=True, slots=True)
class DecoderInUse:
    """Which decoder runs. `version` is the compiled library's version, empty if unknown; `reason` says why it is not used."""

    is_compiled: bool
    version: str = ""
    reason: str = ""

    def __str__(self) -> str:
        if self.is_compiled:
            return f"compiled {self.version or '(an older one)'}"
        return f"Python fallback ({self.reason}): {SLOWER}"


def decoder_in_use(library: Any = INSTALLED) -> DecoderInUse:
    """Return which decoder runs. `library` is the installed library, None if there is none."""
    if library is None:
        return DecoderInUse(False, reason="kafka2hive-native is not installed")
    version = str(getattr(library, "VERSION", ""))
    if not fits(library):
        return DecoderInUse(False, version, "the installed kafka2hive-native does not fit this kafka2hive")
    return DecoderInUse(True, version)


def avro_needs_library() -> ConfigError:
    """Return the error for Avro files without the compiled library, which alone can write them."""
    return ConfigError(
        "native.missing",
        "Avro files are written by the compiled library kafka2hive-native, which is not installed"
        " or does not fit this kafka2hive",
        "pip install the wheel of kafka2hive-native (docs/cluster.md), or use another writer.format",
    )

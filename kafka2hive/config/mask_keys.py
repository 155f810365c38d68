"""The keys of `mask: hmac`: read from the files that the map names, and compared with their fingerprints."""

import hashlib
import hmac
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.keys.masks import MaskKeyFile
from kafka2hive.model.errors import ConfigError

SHORTEST = 16
"""The least number of bytes of a key: a shorter one can be found by trying."""
_MADE_BY = "make one: openssl rand -hex 32, readable for the service's user only"


def read_mask_keys(service_map: ServiceMap) -> tuple[bytes, ...]:
    """Return the map's keys, the one that masks first. Reads no file unless a column has `mask: hmac`.

    Raises ConfigError: `mask.key_unreadable`, `mask.key_weak`, `mask.key_changed`.
    """
    columns = (column for rule in service_map.tables for column in rule.decoded_columns)
    if not any(column.mask is not None and column.mask.kind == "hmac" for column in columns):
        return ()
    return _keys_of(service_map.mask_keys)


def fingerprint_of(key: bytes) -> str:
    """Return the fingerprint of a key, which does not tell the key."""
    return f"k{hmac.digest(key, b'kafka2hive mask key', hashlib.sha256).hex()[:8]}"


@lru_cache(maxsize=8)
def _keys_of(files: Iterable[MaskKeyFile]) -> tuple[bytes, ...]:
    """Return the keys. A process reads each file once, so that all its tasks have one key."""
    return tuple(_key_of(index, file) for index, file in enumerate(files))


def _key_of(index: int, file: MaskKeyFile) -> bytes:
    where = f"mask_keys[{index}]"
    try:
        key = Path(file.file).read_bytes().rstrip(b"\r\n")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise ConfigError(
            "mask.key_unreadable",
            f"{where}: cannot read {file.file}: {why}",
            f"restore the file, or {_MADE_BY}",
        ) from error
    if len(key) < SHORTEST:
        message = f"{where}: {file.file} has {len(key)} bytes, a key needs at least {SHORTEST}"
        raise ConfigError("mask.key_weak", message, _MADE_BY)
    if file.fingerprint == (fingerprint := fingerprint_of(key)):
        return key
    if file.fingerprint is None:
        message = f"{where} has no fingerprint, so that a change of {file.file} would not be noticed"
        raise ConfigError("mask.key_changed", message, f"write fingerprint: {fingerprint}")
    raise ConfigError(
        "mask.key_changed",
        f"{where}: the key in {file.file} has the fingerprint {fingerprint}, the map says {file.fingerprint}: "
        "equal values would no longer have equal masks",
        "restore the key; to use a new one, name its file first in mask_keys and keep the entry of the earlier one",
    )

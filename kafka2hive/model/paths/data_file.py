"""Names of data files, in staging and in their final places."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kafka2hive.model.paths.path import CACHE_SIZE, base_name

_DATA_FILE = re.compile(
    r"(?P<slug>.{1,80})_task_(?P<task>[0-9]{1,18})-(?P<ledger>[0-9a-f]{8})"
    r"-g(?P<generation>[0-9]{6,18})-e(?P<epoch>[0-9]{6,18})"
    r"-(?P<uuid>[0-9a-f]{32})\.(?P<extension>[a-z0-9.]+?)\.(?P<state>in-progress|pending|final)"
    r"(?P<codec>\.gz|\.zst)?"
)
_CODECS = (".gz", ".zst")
"""Suffixes by which Hadoop recognises a compressed file: they must end the name, after the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileName:
    """The name of a data file in all its states; `extension` is e.g. `parquet` or `json.gz`."""

    slug: str
    task: int
    ledger: str
    generation: int
    epoch: int
    uuid: str
    extension: str

    def in_state(self, state: str) -> str:
        """Return the name in a state: `in-progress`, `pending` or `final`. A codec's suffix follows it: `.json.final.gz`."""
        codec = next((suffix for suffix in _CODECS if self.extension.endswith(suffix)), "")
        return (
            f"{self.slug}_task_{self.task}-{self.ledger}-g{self.generation:06d}-e{self.epoch:06d}"
            f"-{self.uuid}.{self.extension.removesuffix(codec)}.{state}{codec}"
        )

    @staticmethod
    @lru_cache(CACHE_SIZE)
    def parse(name: str) -> "tuple[DataFileName, str] | None":
        """Return `(name, state)`, None if it is not exactly the name of a data file."""
        match = _DATA_FILE.fullmatch(name)
        if not match:
            return None
        parts: dict[str, Any] = match.groupdict()
        state, codec = parts.pop("state"), parts.pop("codec") or ""
        parts["extension"] += codec
        parsed = DataFileName(**parts | {n: int(parts[n]) for n in ("task", "generation", "epoch")})
        return (parsed, state) if parsed.in_state(state) == name else None


def extension_of(path: str) -> str:
    """Return the extension of a data file, empty for any other path."""
    parsed = DataFileName.parse(base_name(path))
    return "" if parsed is None else parsed[0].extension


@lru_cache(CACHE_SIZE)
def bucket_slug(partition_path: str) -> str:
    """Return the beginning of the names of a bucket's files: never hidden from Hive, at most 60 characters."""
    slug = re.sub(r"[^A-Za-z0-9=.-]+", "-", partition_path).strip("-._")
    return slug[:60].rstrip("-._") or "all"


def ledger_tag(ledger_id: str) -> str:
    """Return the part of a ledger id that is in file names: its first eight digits."""
    return ledger_id[:8]

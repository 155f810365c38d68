"""Names of data files, in staging and in their final places."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kafka2hive.model.paths.path import REMEMBERED, base_name

_DATA_FILE = re.compile(
    r"(?P<slug>.{1,80})_task_(?P<task>[0-9]{1,18})-(?P<ledger>[0-9a-f]{8})"
    r"-g(?P<generation>[0-9]{6,18})-e(?P<epoch>[0-9]{6,18})"
    r"-(?P<uuid>[0-9a-f]{32})\.(?P<extension>[a-z0-9.]+?)\.(?P<state>in-progress|pending|final)"
    r"(?P<codec>\.gz|\.zst)?"
)
_CODECS = (".gz", ".zst")
"""Suffixes by which Hadoop knows how a whole file is compressed: they must be a name's last ones, after the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileName:
    """Name of a data file in all its states; `extension` without dots at the ends, e.g. `parquet` or `json.gz`."""

    slug: str
    task: int
    ledger: str
    generation: int
    epoch: int
    uuid: str
    extension: str

    def in_state(self, state: str) -> str:
        """`state` is `in-progress`, `pending` or `final`; it stands before the suffix of a codec: `.json.final.gz`."""
        codec = next((suffix for suffix in _CODECS if self.extension.endswith(suffix)), "")
        return (
            f"{self.slug}_task_{self.task}-{self.ledger}-g{self.generation:06d}-e{self.epoch:06d}"
            f"-{self.uuid}.{self.extension.removesuffix(codec)}.{state}{codec}"
        )

    @staticmethod
    @lru_cache(REMEMBERED)
    def parse(name: str) -> "tuple[DataFileName, str] | None":
        """`(name, state)`, None when it is not exactly one of ours."""
        found = _DATA_FILE.fullmatch(name)
        if not found:
            return None
        parts: dict[str, Any] = found.groupdict()
        state, codec = parts.pop("state"), parts.pop("codec") or ""
        parts["extension"] += codec
        parsed = DataFileName(**parts | {n: int(parts[n]) for n in ("task", "generation", "epoch")})
        return (parsed, state) if parsed.in_state(state) == name else None


def extension_of(path: str) -> str:
    """Of a data file, empty for any other path."""
    parsed = DataFileName.parse(base_name(path))
    return "" if parsed is None else parsed[0].extension


@lru_cache(REMEMBERED)
def bucket_slug(partition_path: str) -> str:
    """A bucket's path as the beginning of a file name: never hidden to Hive, at most 60 characters."""
    slug = re.sub(r"[^A-Za-z0-9=.-]+", "-", partition_path).strip("-._")
    return slug[:60].rstrip("-._") or "all"


def ledger_tag(ledger_id: str) -> str:
    """The part of a ledger id that stands in file names: its first eight digits."""
    return ledger_id[:8]

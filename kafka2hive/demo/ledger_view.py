"""The ledger and the table as `hdfs dfs -ls` shows them."""

import re
from collections import Counter
from pathlib import Path

from kafka2hive.demo.map_text import TABLE
from kafka2hive.model.paths.ledger import LedgerPaths, SnapshotState, parse_snapshot_name
from kafka2hive.model.paths.table_directory import STAGING_DIRECTORY
from kafka2hive.model.quantities import counted

_STATE = re.compile(r"\.(in-progress|pending|final)$")


class LedgerView:
    """Looks at the demo's directory, which is on this machine's disk; changes nothing."""

    def __init__(self, directory: Path) -> None:
        database, _, name = TABLE.partition(".")
        self._ledger = Path(LedgerPaths(str(directory / "kafka2hive"), TABLE).table_directory)
        self._table = directory / "warehouse" / f"{database}.db" / name

    def epochs(self, state: str) -> list[int]:
        """Epochs in that state (SnapshotState), ascending."""
        parsed = (parse_snapshot_name(path.name) for path in self._ledger.glob("g*/e*"))
        return sorted(found[0] for found in parsed if found and found[1] == state)

    def listing(self) -> list[str]:
        """The generation directory with its newest snapshots, then how many data files are where."""
        lines = []
        for generation in sorted(self._ledger.glob("g*")):
            lines.append(f"{self._ledger.parent.name}/{self._ledger.name}/{_short(generation.name)}/")
            for path in sorted(generation.iterdir())[-4:]:
                note = "  <- committed, not finished" if path.name.endswith(SnapshotState.PENDING) else ""
                lines.append(f"    {_short(path.name):32}{_size(path):>9,} B{note}")
        staged = Counter(_state(path) for path in (self._table / STAGING_DIRECTORY).glob("*"))
        final = sum(1 for path in self._table.glob(f"{MONTH_GLOB}/*.final"))
        counts = ", ".join(f"{number} .{state}" for state, number in sorted(staged.items())) or "none"
        lines.append(f"{TABLE}: {counted(final, 'file')} .final, {counts} staged in {STAGING_DIRECTORY}/")
        return lines

    def newest_snapshot(self) -> str:
        newest = max(self._ledger.glob("g*/e*.final"), key=lambda path: path.name)
        return newest.read_text()


MONTH_GLOB = "*=*"


def _state(path: Path) -> str:
    found = _STATE.search(path.name)
    return found[1] if found else "other"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # renamed while we looked
        return 0


def _short(name: str) -> str:
    """Names hold a uuid of 32 digits; eight tell enough here."""
    return re.sub(r"([0-9a-f]{8})[0-9a-f]{24}", r"\1..", name)

"""The progress of a command's long work, as a port: use cases report it, and the command line shows it."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Protocol

from kafka2hive.model.files import DataFile


class Advance(Protocol):
    """Adds amounts that are done, such as `advance(files=1, rows=700)`. Any thread may call it, once for each file or so."""

    def __call__(self, **done: int) -> None: ...


class Progress:
    """Receives the progress of a command. This base class ignores it."""

    @contextmanager
    def work(self, name: str, **totals: int) -> Iterator[Advance]:
        """Begin a piece of work that lasts as long as the block, and yield its `advance`.

        `totals` are the amounts of the whole work, such as `files=3, rows=1_000, bytes=120_000`; an amount that is not known
        is left out. Work within work is a part of it.
        """
        yield _ignore


def amounts(files: Collection[DataFile]) -> dict[str, int]:
    """Return these files as amounts of work."""
    return {"files": len(files), "rows": sum(f.rows for f in files), "bytes": sum(f.length for f in files)}


def _ignore(**done: int) -> None:
    pass

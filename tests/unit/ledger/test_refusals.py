"""A directory without write permission is reported once, not at every try."""

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.ledger.init import init
from kafka2hive.ledger.ports import RetryPolicy, log
from kafka2hive.model.errors import TableError
from kafka2hive.observe.log import RECURRING, SILENT_SECONDS, LogFormat, OncePerHour, configure
from kafka2hive.storage.port import (
    Denied,
    FileStatus,
    FileSystem,
    NotFound,
    StorageError,
    StorageWriter,
    Unavailable,
)
from tests.harness.cli_ledger import TABLE, logging_kept
from tests.harness.epoch_loop import Clock, make_wiring


class Refusing:
    """A file system that refuses every creation."""

    def __init__(self, files: FileSystem, error: type[StorageError]) -> None:
        self._files = files
        self._error = error

    def create(self, path: str) -> StorageWriter:
        raise self._error(path, "no")

    def mkdirs(self, path: str) -> None:
        raise self._error(path, "no")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def lines(folder: Path, error: type[StorageError], tries: int) -> Counter[str]:
    """Return how often the line of each step is in the log after so many tries to create a ledger."""
    wiring = make_wiring(folder)
    files: Any = Refusing(wiring.ports.files, error)
    ports = replace(wiring.ports, files=files, clock=Clock())
    out = io.StringIO()
    with logging_kept():
        configure(LogFormat.HUMAN, stream=out)
        for _ in range(tries):
            with pytest.raises(Exception):  # noqa: B017  what it ends in is others' matter
                init(ports, wiring.paths(TABLE), "once", f"{folder.as_uri()}/air.db/flights")
    told = [line.split(" ", 2)[2] for line in out.getvalue().splitlines()]
    return Counter("tried again" if "next try" in line else "refused" for line in told)


def test_a_directory_that_may_not_be_written_is_told_once(tmp_path: Path) -> None:
    assert lines(tmp_path, Denied, 20) == Counter({"refused": 1, "tried again": 1})


def test_what_may_be_over_at_any_moment_is_told_every_time(tmp_path: Path) -> None:
    assert lines(tmp_path, Unavailable, 2)["refused"] > 4


def test_a_refusal_is_told_again_after_an_hour_and_another_path_at_once() -> None:
    once = OncePerHour()

    def told(path: str, error: StorageError, seconds: float) -> bool:
        record = log.makeRecord(log.name, 30, "", 0, "mark %s: %s", (path, error), None)
        record.created = seconds
        return once.filter(record)

    assert told("a", Denied("a/1"), 0.0)
    assert not told("a", Denied("a/2"), SILENT_SECONDS - 1)
    assert told("b", Denied("b/1"), 1.0)
    assert told("a", Unavailable("a/3"), 2.0) and told("a", Unavailable("a/4"), 3.0)
    assert told("a", Denied("a/5"), SILENT_SECONDS)


def test_a_recurring_warning_is_logged_again_after_an_hour_and_another_text_at_once() -> None:
    once = OncePerHour()

    def is_logged(text: str, seconds: float, extra: dict[str, object] | None = None) -> bool:
        record = log.makeRecord("kafka2hive.service", 30, "", 0, "%s: %s", ("t", text), None, extra=extra)
        record.created = seconds
        return once.filter(record)

    assert is_logged("a file is lost", 0.0, RECURRING)
    assert not is_logged("a file is lost", SILENT_SECONDS - 1, RECURRING)
    assert is_logged("two files are lost", 1.0, RECURRING)
    assert is_logged("a file is lost", SILENT_SECONDS, RECURRING)
    assert is_logged("a file is lost", SILENT_SECONDS, None) and is_logged(
        "a file is lost", SILENT_SECONDS, None
    )


def test_a_command_that_is_refused_too_often_says_why_and_what_to_do(tmp_path: Path) -> None:
    class ReadOnly:
        """As HDFS says it: the reason, then a Java stack."""

        def mkdirs(self, path: str) -> None:
            raise Denied(path, "Permission denied: user=me\n\tat org.apache.hadoop.Server.main")

        def stat(self, path: str) -> FileStatus:
            raise NotFound(path)

    wiring = make_wiring(tmp_path)
    files: Any = ReadOnly()
    ports = replace(wiring.ports, files=files, retry_policy=RetryPolicy(blocked=0.0))
    with pytest.raises(TableError) as refused:
        init(ports, wiring.paths(TABLE), "demo", "file:///t")
    assert refused.value.code == "storage.denied"
    assert refused.value.message.endswith("Permission denied: user=me")
    assert "type the same `kafka2hive` command again" in refused.value.remedy

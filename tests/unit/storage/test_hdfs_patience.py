"""A program with limited patience for HDFS does not wait for each call to a NameNode that does not answer."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from kafka2hive.storage import hdfs
from kafka2hive.storage.hdfs import HdfsFileSystem
from kafka2hive.storage.port import NotFound, Unavailable

PATIENCE = 0.3


class Client:
    """A connection whose calls do what `answer` does."""

    def __init__(self, asked: list[str], answer: Callable[[], object]) -> None:
        self._asked = asked
        self._answer = answer

    def get_file_info(self, path: str) -> object:
        self._asked.append(path)
        return self._answer()


class Files(HdfsFileSystem):
    def __init__(self, answer: Callable[[], object]) -> None:
        super().__init__("hdfs://nn:1", patience_seconds=PATIENCE)
        self.asked: list[str] = []
        self.answer = answer

    def _connect(self, more: dict[str, str] | None = None) -> Any:
        return Client(self.asked, lambda: self.answer())

    def ask(self) -> str:
        with pytest.raises((Unavailable, NotFound)) as caught:
            self.stat("hdfs://nn:1/x")
        return str(caught.value)


def silence() -> None:
    time.sleep(0.2)
    raise OSError("connection refused")


def missing() -> None:
    raise FileNotFoundError("File not found: /x")


def test_a_call_lasts_no_longer_than_the_patience() -> None:
    files = Files(lambda: time.sleep(5))
    began = time.monotonic()
    assert "no answer within" in files.ask()
    assert time.monotonic() - began < 2


def test_calls_are_given_up_when_those_without_an_answer_have_taken_that_long() -> None:
    files = Files(silence)
    assert ["not asked" in files.ask() for _ in range(4)] == [False, False, True, True]
    assert len(files.asked) == 2


def test_an_answer_restores_the_patience_and_a_missing_file_is_one() -> None:
    files = Files(silence)
    files.ask()
    files.answer = missing
    assert "not found" in files.ask().lower()
    files.answer = silence
    assert ["not asked" in files.ask() for _ in range(3)] == [False, False, True]


def test_a_later_question_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs, "RETRY_SECONDS", 0.1)
    files = Files(silence)
    files.ask(), files.ask()
    assert "not asked" in files.ask()
    time.sleep(0.15)
    assert "not asked" not in files.ask()

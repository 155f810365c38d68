"""Sessions of one process that take turns once HiveServer2 refuses another one of its user."""

from types import SimpleNamespace

import pytest

from kafka2hive.hive.session import SessionTurns, from_status
from kafka2hive.model.metastore import TooManySessions


class Session:
    """A session that notes that it was closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    "text",
    [
        "Connection limit per user reached (user: etl limit: 1)",
        "Connection limit per ipaddress reached (ipaddress: 10.0.0.1 limit: 1)",
        "Connection limit per user:ipaddress reached (user:ipaddress: etl:10.0.0.1 limit: 1)",
    ],
)
def test_a_refused_session_is_an_error_with_a_name_of_its_own(text: str) -> None:
    status = SimpleNamespace(errorMessage=text, sqlState=None, errorCode=0)
    error = from_status(status, "open a session")
    assert isinstance(error, TooManySessions)
    told = error.to_error(str(error))
    assert told.code == "hive.sessions" and text in told.message and "per.user" in told.remedy


def test_before_a_session_has_its_turn_all_others_are_closed(caplog: pytest.LogCaptureFixture) -> None:
    turns, first, second = SessionTurns(), Session(), Session()
    for session in (first, second):
        turns.add(session)
    turns.begin(TooManySessions("refused"))
    turns.begin(TooManySessions("refused"))
    assert turns.are_taken and caplog.text.count("one session at a time") == 1
    with turns.of(first):
        assert (first.closed, second.closed) == (0, 1)
    with turns.of(second):
        assert (first.closed, second.closed) == (1, 1)

"""Answers of HTTP servers that are not HiveServer2, and their meaning for the session."""

from itertools import count

import pytest

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive.session import HiveSession, log_in
from kafka2hive.hive.transport import HttpRefusal, HttpTransport
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable
from tests.harness.odd_http import Hangs, OddServer, Reply, odd_server, reply


def asked(server: OddServer) -> MetastoreUnavailable:
    options = HiveOptions("127.0.0.1", server.port, "etl", "secret-4711", "LDAP", 0.5, http_path="cliservice")
    with pytest.raises(MetastoreUnavailable) as caught:
        HiveSession(options).run("select 1")
    assert "4711" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (reply(401, b"Authentication Error: no\nmore"), HiveLoginRefused, "refuses user etl: correct auth and the user"),
        (reply(403, b""), HiveLoginRefused, "(HTTP 403: X)"),
        (reply(404, b"<html>"), HiveLoginRefused, "has no path cliservice: correct http_path"),
        (reply(405, b"<html>"), HiveLoginRefused, "has no path cliservice: correct http_path"),
        (b"\x05\x00\x00\x00\x10Unsupported mech", HiveLoginRefused, "does not speak HTTP"),
        (reply(502, b"bad gateway"), MetastoreUnavailable, "HTTP 502: bad gateway"),
        (b"", MetastoreUnavailable, "Remote end closed connection"),
        (reply(200, b""), MetastoreUnavailable, ""),
        (Hangs(b"HTTP/1.1 200 OK\r\n"), MetastoreUnavailable, "did not answer within 0.5 s"),
    ],
    ids=["401", "403", "404", "405", "no-http", "502", "closed", "empty", "hangs"],
)  # fmt: skip
def test_each_answer_that_is_not_hives_has_its_meaning(
    answer: Reply, kind: type[MetastoreUnavailable], told: str
) -> None:
    with odd_server(lambda request: answer) as server:
        error = asked(server)
    assert type(error) is kind and told in str(error)
    assert {request.path for request in server.requests} == {"/cliservice"}
    assert server.requests[0].headers["authorization"] == "Basic ZXRsOnNlY3JldC00NzEx"


def test_a_connection_that_is_closed_while_it_is_opened_is_tried_once_more() -> None:
    with odd_server(lambda request: b"") as server:
        asked(server)
        assert len(server.requests) == 2
    with odd_server(lambda request: reply(502, b"")) as server:
        asked(server)
        assert len(server.requests) == 1, "an answer is one"


def test_any_answer_over_http_shows_that_the_server_answers() -> None:
    def ask(answer: Reply, seconds: float = 0.5) -> list[str]:
        with odd_server(lambda request: answer) as server:
            log_in(HiveOptions("127.0.0.1", server.port, "etl", "", "LDAP", seconds, http_path="cliservice"))
            assert "authorization" not in server.requests[0].headers
        return server.paths

    assert ask(reply(401, b"")) == ask(reply(405, b"<html>")) == ["/cliservice"]
    for silent in (Hangs(), b""):
        with pytest.raises(MetastoreUnavailable, match=r"HiveServer2 at 127\.0\.0\.1:\d+: "):
            ask(silent)


def test_each_request_carries_a_login_of_its_own() -> None:
    from http.client import HTTPConnection

    numbers = count()
    answers = [
        said.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        for said in (reply(200, b"first"), reply(200, b"second"), reply(401, b"no"))
    ]
    with odd_server(lambda request: answers[len(server.requests) - 1]) as server:
        transport = HttpTransport(
            HTTPConnection("127.0.0.1", server.port, timeout=30), "a/b", lambda: f"Negotiate {next(numbers)}"
        )
        for expected in (b"first", b"second"):
            transport.write(b"que")
            transport.write(b"stion")
            transport.flush()
            assert transport.read(100) == expected
        with pytest.raises(HttpRefusal, match="HTTP 401: no"):
            transport.flush()
        transport.close()
        assert not transport.isOpen()
    assert [request.headers["authorization"] for request in server.requests] == [
        "Negotiate 0",
        "Negotiate 1",
        "Negotiate 2",
    ]

"""A HiveServer2 that hangs costs one time limit, however many tables want their columns from it."""

import pytest

from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.service.hive.schemas import HiveOutage


class Server:
    """Answers after some seconds of its own clock, or does not answer."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.takes = 60.0
        self.hangs = True
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        self.seconds += self.takes
        if self.hangs:
            raise MetastoreUnavailable("did not answer within 60 s")
        return "columns"


def test_after_a_question_without_an_answer_nobody_asks_for_a_while() -> None:
    server = Server()
    outage = HiveOutage(lambda: server.seconds)
    for _ in range(100):
        with pytest.raises(MetastoreUnavailable, match="60 s"):
            outage.ask(server)
        server.seconds += 2.9
    assert server.asked == 1
    server.seconds += 10.1
    server.hangs = False
    assert outage.ask(server) == outage.ask(server) == "columns"


def test_a_refused_connection_is_tried_again_soon() -> None:
    server = Server()
    server.takes = 0.0
    outage = HiveOutage(lambda: server.seconds)
    with pytest.raises(MetastoreUnavailable):
        outage.ask(server)
    server.hangs = False
    server.seconds += 20.0
    assert outage.ask(server) == "columns"

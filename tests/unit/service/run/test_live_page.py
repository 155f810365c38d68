"""The page of a live run: made when somebody asks, kept for a while, without secrets, at `/` of the endpoint alone."""

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.condition_files import ConditionFiles
from kafka2hive.ledger.heartbeat import Heartbeat
from kafka2hive.ledger.start import take_over
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.report.live_page import IDLE_SHARE, MOST_OFTEN_SECONDS, LivePage
from kafka2hive.service.tables.condition import RunConditions, Serving, TableCondition, encode
from kafka2hive.service.tables.run_epoch import RunEpoch
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import TABLE, pending_service

EPOCH = RunEpoch(
    number=7,
    published_at="2026-11-25T12:00:00Z",
    tasks_seconds=2.5,
    publish_seconds=0.5,
    records=1_000,
    tables=3,
    lag_records=42,
    fresh_seconds=None,
    set_aside=1,
)


class SetClock:
    """A clock that a test sets; each look at the monotonic time takes `step` seconds."""

    def __init__(self, step: float = 0.0) -> None:
        self.seconds, self.step = 1_000.0, step

    def now(self) -> str:
        return "2026-11-25T12:00:00Z"

    def epoch_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        self.seconds += self.step
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def clocked(folder: Path, clock: SetClock) -> Wiring:
    wiring = pending_service(folder).wiring
    return replace(wiring, ports=replace(wiring.ports, clock=clock))


@pytest.mark.parametrize("step", [0.0, 10.0])
def test_a_page_is_kept_for_a_while_longer_if_it_took_long(tmp_path: Path, step: float) -> None:
    clock = SetClock()
    page = LivePage(clocked(tmp_path, clock), [EPOCH])
    clock.step = step
    began = clock.seconds + step
    first = page()
    clock.step = 0.0
    kept = max(MOST_OFTEN_SECONDS, IDLE_SHARE * (clock.seconds - began))
    assert kept > MOST_OFTEN_SECONDS or not step
    clock.seconds += kept - 1
    assert page() is first
    clock.seconds += 2
    later = page()
    assert later is not first and TABLE in later.decode()


def test_a_page_is_not_kept_when_there_is_news(tmp_path: Path) -> None:
    news = [("HiveServer2 has not answered",), ()]
    page = LivePage(clocked(tmp_path, SetClock()), [EPOCH], lambda: news[-1])
    first = page()
    assert page() is first
    news.pop()
    second = page()
    assert second is not first and page() is second


def test_who_asks_while_a_page_is_made_gets_that_page(tmp_path: Path) -> None:
    page = LivePage(clocked(tmp_path, SetClock()), [EPOCH])
    pages: list[bytes] = []
    threads = [threading.Thread(target=lambda: pages.append(page())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pages) == 4 and len({id(one) for one in pages}) == 1


def test_the_runs_own_epochs_are_in_the_page(tmp_path: Path) -> None:
    text = LivePage(clocked(tmp_path, SetClock()), [EPOCH])().decode()
    assert (
        'data-chart="run"' in text
        and '<td data-title="left in Kafka" class="number" data-v="42">42</td>' in text
    )
    assert "The ledger does not record lag" not in text


def test_the_run_that_serves_the_page_is_alive_in_it(tmp_path: Path) -> None:
    wiring = clocked(tmp_path, SetClock())
    root, service, owner = wiring.map.storage.ledger_root, wiring.map.service, wiring.new_owner()
    take_over(wiring.ports, wiring.paths(TABLE), wiring.new_owner(), None)
    Heartbeat(wiring.ports, root, service, owner, wiring.processes.me()).send()
    serving = RunConditions((TableCondition(TABLE, Serving()),))
    ConditionFiles(wiring.ports, root, service, owner).show(encode(serving))
    text = LivePage(wiring, [EPOCH])().decode()
    assert "No run is alive" not in text and "(alive), generation" in text


def test_what_cannot_be_read_is_an_error_without_secrets(tmp_path: Path) -> None:
    wiring = clocked(tmp_path, SetClock())
    ledgers = Path(wiring.paths("").ledgers.removeprefix("file://"))
    ledgers.rename(ledgers.with_name("moved"))
    ledgers.symlink_to(ledgers)
    secret = ledgers.name
    properties = (*wiring.map.kafka.properties, ("sasl.password", secret))
    kafka = replace(wiring.map.kafka, properties=properties)
    service_map = replace(wiring.map, kafka=kafka, secret_keys=frozenset({"sasl.password"}))
    with pytest.raises(ServiceUnavailable) as raised:
        LivePage(replace(wiring, map=service_map), [EPOCH])()
    assert raised.value.code == "storage.unavailable"
    assert secret not in str(raised.value) and "***" in str(raised.value)


@pytest.fixture
def answers() -> Iterator[tuple[int, list[bytes | Exception]]]:
    """The port of an endpoint, and what its page will answer, in order."""
    coming: list[bytes | Exception] = []

    def page() -> bytes:
        one = coming.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    metrics = ServiceMetrics("flights")
    port = metrics.serve("127.0.0.1", 0, page)
    yield port, coming
    metrics.close()


def asked(port: int, path: str, method: str = "GET", host: str | None = None) -> tuple[int, str, str]:
    headers = {} if host is None else {"Host": host}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


def test_the_page_is_at_the_root_and_only_read(answers: tuple[int, list[bytes | Exception]]) -> None:
    port, coming = answers
    coming += [b"<!DOCTYPE html>", b"<!DOCTYPE html>"]
    assert asked(port, "/") == (200, "text/html; charset=utf-8", "<!DOCTYPE html>")
    assert asked(port, "/", "HEAD") == (200, "text/html; charset=utf-8", "")
    assert asked(port, "/", "POST")[0] == 405
    assert "kafka2hive_service_info" in asked(port, "/metrics")[2]
    assert asked(port, "/live")[0] == 200
    coming.append(ServiceUnavailable("storage.unavailable", "no answer", "ask again"))
    status, kind, text = asked(port, "/")
    assert (status, kind) == (503, "text/plain; charset=utf-8") and "[storage.unavailable] no answer" in text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:9108", 200),
        ("127.0.0.1:9108", 200),
        ("[::1]:9108", 200),
        ("rebound.example:9108", 403),
        ("127.0.0.1.rebound.example", 403),
        ("[", 403),
    ],
)
def test_a_site_whose_name_leads_to_the_loopback_does_not_read_the_page(
    answers: tuple[int, list[bytes | Exception]], host: str, status: int
) -> None:
    port, coming = answers
    coming.append(b"<!DOCTYPE html>")
    assert asked(port, "/", host=host)[0] == status
    assert asked(port, "/metrics", host=host)[0] == 200


def test_without_a_page_the_root_shows_the_metrics() -> None:
    metrics = ServiceMetrics("flights")
    port = metrics.serve("127.0.0.1", 0)
    try:
        assert "kafka2hive_service_info" in asked(port, "/")[2]
    finally:
        metrics.close()

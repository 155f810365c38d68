"""The page of `report` on real services, in a real browser: what each table needs, its numbers, nothing from elsewhere."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from tests.harness import shown
from tests.harness.browser import Browser
from tests.harness.program import Finished, Running, command
from tests.harness.scenario import DumpedTable, Scenario, flights_in, on_hdfs, payloads_in
from tests.harness.service_map import flights_table
from tests.oracle.exact import ends_of
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce

ATTACK = "<img src=x onerror=document.title=1>"
PART, WAITING, BAD = 2_000, 700, 30


def event(number: int) -> bytes:
    """A change as Debezium sends it; of every tenth the operation is markup, which is the dead letter's text."""
    operation = ATTACK if number % 10 == 3 else "c"
    change = {"op": operation, "ts_ms": 1_795_600_000_000, "before": None, "after": {"id": number}}
    return json.dumps({**change, "source": {}}).encode()


def table_of(browser: Browser, section: str, kind: str) -> list[dict[str, str]]:
    """The table behind a chart of one table's section, by the titles of its columns."""
    rows: list[dict[str, str]] = browser.ask(
        f"""(() => {{
          const texts = cells => [...cells].map(cell => cell.textContent);
          const heads = [...document.querySelectorAll("main section h2")];
          const section = heads.find(head => head.textContent === {section!r}).parentElement;
          const figure = section.querySelector("figure[data-chart={kind}]");
          const titles = texts(figure.querySelectorAll("thead th"));
          const row = cells => Object.fromEntries(texts(cells).map((text, n) => [titles[n], text]));
          return [...figure.querySelectorAll("tbody tr")].map(one => row(one.cells));
        }})()"""
    )
    return rows


def total(rows: list[dict[str, str]], column: str) -> int:
    return sum(int(row[column].replace(",", "")) for row in rows)


def index_when_kafka_answers(browser: Browser, live: str) -> str:
    """Open the page of the live run; the table at its top.

    A page without offsets, for which a busy Kafka took too long, is kept for a minute or two.
    """
    deadline = time.monotonic() + 600
    while True:
        browser.open(live)
        words = str(browser.ask("document.querySelector('table.index').innerText"))
        if "offsets wait in Kafka" in words or time.monotonic() > deadline:
            return words
        time.sleep(5)


@pytest.mark.timeout(3600)
def test_the_page_shows_good_stopped_lagging_and_dead_lettered_tables_as_they_are(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    name = hive_database
    (port,) = free_ports(1)
    good, bad, gone, slow = (f"{name}.{one}" for one in ("flights", "events", "gone", "slow"))
    topics = {one: one.replace(".", "-") for one in (good, bad, gone, slow)}
    for topic in topics.values():
        kafka.create_topic(topic, 2)
    changes = {"columns": {"id": "bigint"}, "source": "debezium", "bucket": {"path": "dt=%Y-%m-%d"}}
    events = flights_table(bad, topics[bad], dead_letter_share=1.0, **changes)
    sections = {
        "hive": {"url": f"hive://{hive.address}"},
        "dead_letters": {"table": f"{name}.dead_letters"},
    }
    live = f"http://127.0.0.1:{port}/"
    scenario = Scenario(
        tmp_path,
        name,
        kafka.bootstrap,
        on_hdfs(hdfs, name),
        [
            flights_in(good, topics[good], completion={"delay": "1s"}),
            DumpedTable(events, None),
            payloads_in(gone, topics[gone]),
            payloads_in(slow, topics[slow]),
        ],
        **sections,
        metrics={"port": port, "page": False},
    )
    stored: dict[str, dict[tuple[str, int, int], bytes | None]] = {one: {} for one in topics}

    def send(table: str, records: list[bytes]) -> None:
        stored[table] |= produce(kafka.bootstrap, topics[table], records, 2)

    def newest(table: str) -> dict[str, list[dict[str, Any]]]:
        return scenario.ledgers[table].newest()

    with Running(scenario.config) as run:
        for part in range(3):
            send(good, list(flights()[part * PART : (part + 1) * PART]))
            send(bad, [event(number) for number in range(part * 100, part * 100 + 100)])
            send(slow, [b"payload %d" % number for number in range(50)])
            send(gone, [b"payload %d" % number for number in range(50)])
            for table, its_stored in stored.items():
                scenario.wait_until_at(run, ends_of(its_stored), table)
        assert shown.page(live).startswith("# HELP"), "the map wants no page"
        assert run.terminate() == 143, run.tail()

    begin = ends_of(stored[gone])[topics[gone], 1]
    send(gone, [b"lost %d" % number for number in range(100)])
    admin = kafka.admin()
    deleted = admin.delete_records([TopicPartition(topics[gone], 1, begin + 20)])
    for future in deleted.values():
        future.result(120)
    scenario.write_map(**sections, metrics={"port": port})
    with Running(scenario.config) as run:
        run.wait_until(lambda: run.said("are gone unread"), "stopped for one table")
        run.wait_until(lambda: run.said("the query runs"), "seen as a live run")
        paused = command("pause", scenario.config, "--table", slow)
        assert paused.code == 0, paused.log
        send(slow, [b"payload %d" % number for number in range(WAITING)])
        send(good, list(flights()[3 * PART : 4 * PART]))
        scenario.wait_until_at(run, ends_of(stored[good]), good)
        certified: Callable[[], bool] = lambda: not newest(good)["open"] and not newest(good)["unregistered"]  # noqa: E731
        run.wait_until(certified, "certified and registered", pause=0.5)
        with Browser() as browser:
            words = index_when_kafka_answers(browser, live)
            assert (browser.complaints, browser.requests) == ([], [live])
            epochs = table_of(browser, "This run", "run")
            assert total(epochs, "records") == PART
            assert "No run is alive" not in browser.ask("document.body.innerText")
            assert "Stopped: needs you" in words and f"{WAITING} offsets wait in Kafka" in words
            assert browser.ask("document.querySelectorAll('figure[data-chart=run] svg').length") == 2
            browser.picture(tmp_path / "live.png")
        page = tmp_path / "report.html"
        reports: list[Finished] = []

        def all_have_answered() -> bool:
            """A page for which a busy Kafka or Hive took too long says so."""
            done = command("report", scenario.config, "-o", str(page), "--json")
            assert done.code == 0, done.log
            reports.append(done)
            waiting = {one["table"]: one["detail"] for one in done.document["tables"]}[slow]
            return f"{WAITING} offsets wait in Kafka" in waiting and "They are the same." in page.read_text()

        run.wait_until(all_have_answered, "with all answers", pause=1)
        done = reports[-1]
        assert run.terminate() == 143, run.tail()

    states = {one["table"]: one for one in done.document["tables"]}
    assert [one["urgency"] for one in done.document["tables"]] == ["act", "note", "note", "fine"]
    assert f"[{begin}, {begin + 20}) are gone unread" in states[gone]["detail"]
    assert f"kafka2hive recover --table {gone} --accept-gap" in states[gone]["remedy"]
    assert f"kafka2hive resume --table {slow}" in states[slow]["remedy"]
    assert f"{WAITING} offsets wait in Kafka" in states[slow]["detail"]

    address = page.as_uri()
    with Browser() as browser:
        browser.open(address)
        assert (browser.complaints, browser.requests) == ([], [address])
        assert browser.ask("document.title").startswith(f"{name}: kafka2hive report of ")
        assert browser.ask("[...document.querySelectorAll('main h2')].map(one => one.textContent)") == [
            one["table"] for one in done.document["tables"]
        ]
        index = browser.ask("document.querySelector('table.index').innerText")
        for words in ("Stopped: needs you", "Paused on purpose", "Dumped, with a note", "Fine"):
            assert words in index
        counts = browser.ask("[...document.querySelectorAll('.counts b')].map(one => one.textContent)")
        assert counts == ["1", "2", "1"]

        epochs = table_of(browser, good, "epochs")
        assert [int(row["epoch"].replace(",", "")) for row in epochs] == [
            one["header"][0]["epoch"] for one in scenario.ledgers[good].history()
        ]
        assert total(epochs, "records") == len(stored[good]) == 4 * PART
        assert total(table_of(browser, good, "partitions"), "rows") == 4 * PART
        assert total(table_of(browser, good, "coverage"), "written") == 4 * PART
        assert {row["every offset accounted for"][:4] for row in table_of(browser, good, "coverage")} == {
            "yes:"
        }
        assert total(table_of(browser, slow, "coverage"), "waiting") == WAITING
        (letters,) = table_of(browser, bad, "letters")
        assert (letters["reason"], letters["dead letters"]) == ("change_log.op", str(BAD))
        assert letters["its text"] == f"unknown operation '{ATTACK}'"
        complete = browser.ask("document.body.innerText.includes('Certificates that these epochs gave')")
        same = browser.ask("document.body.innerText.includes('They are the same.')")
        assert (complete, same) == (True, True)

        boxes = "[...document.querySelectorAll('figure[data-chart] .chart')]"
        charts = browser.ask(f"{boxes}.map(one => one.childElementCount)")
        assert len(charts) > 10 and 0 not in charts
        assert browser.ask(
            "[...document.querySelectorAll('figure svg')].every(one => one.getAttribute('aria-label'))"
        )
        browser.press("Tab")
        assert browser.ask("document.activeElement.className") == "skip"
        browser.ask("document.querySelector('figure details summary').focus()")
        browser.press("Enter")
        assert browser.ask("document.querySelector('figure details').open") is True

        for width, dark in ((390, False), (390, True), (1280, True)):
            browser.open(address, width, dark=dark, touch=width < 600)
            assert (browser.complaints, browser.requests) == ([], [address])
            assert browser.ask("document.documentElement.scrollWidth") <= width
            paper = browser.ask("getComputedStyle(document.body).backgroundColor")
            assert (paper == "rgb(255, 255, 255)") is not dark
            browser.picture(tmp_path / f"page-{width}-{'dark' if dark else 'light'}.png")
        browser.media(dark=True, printed=True)
        assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.ask("getComputedStyle(document.querySelector('figure details')).display") == "none"

"""Make the pictures of a service in the docs from a real run: `scripts/pictures`.

The run has four tables on Kafka, HDFS and HiveServer2 of its own: one topic is recreated, one table lacks a column in Hive,
and the other two get records. The files in docs/images are replaced only if both pictures show all of it.
"""

import asyncio
import getpass
import html
import json
import math
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path

from kafka2hive.cli.render.live_view import LiveView
from kafka2hive.cli.terminal.outcome import named_map, shown
from kafka2hive.config.load import load_map
from kafka2hive.service.inspect.top import TopReader
from kafka2hive.service.wiring import wire
from tests.drills.stream import Stream, some_flights
from tests.harness.browser import Browser
from tests.harness.made_up_figures import seen
from tests.harness.program import Running, command
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.pages.parts import ROOT
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 150_000
"""Of the page's picture, because README shows it."""
STOPPED, RETRIED, SERVED = "air.weather", "air.delays", ("air.clicks", "air.flights")
TOPICS = {"flights": 2, "clicks": 2, "delays": 1, "weather": 1}
EPOCHS_SECONDS = 45.0
"""How long each of the two runs gets records, so that the page has epochs to draw."""
TERMINAL = 80, 24
"""Columns and lines."""
PAGE_WIDTH, PAGE_SCALE = 960, 0.68


def in_waves(mean: float) -> Callable[[float], float]:
    """Return a rate that rises and falls, which gives the chart of epochs a shape."""
    return lambda seconds: mean * (1 + 0.8 * math.sin(seconds / 10))


class AirService:
    """Four tables, and the runs that dump them. `hidden` has what no picture may show, and what it shows instead."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.hdfs = stack.enter_context(Hdfs(folder / "hdfs"))
        self.kafka = stack.enter_context(KafkaBroker(folder / "kafka"))
        self.hive = stack.enter_context(HiveServer(folder / "hive", self.hdfs.site_properties))
        self.hive.query("create database air")
        (port,) = free_ports(1)
        self.hidden = {
            self.hdfs.namenode_url: "hdfs://namenode:8020",
            self.kafka.bootstrap: "kafka:9092",
            self.hive.address: "hive:10000",
            str(folder): "/etc/kafka2hive",
            socket.gethostname(): "data-node-3",
        }
        for topic, count in TOPICS.items():
            self.kafka.create_topic(topic, count)
        self.scenario = Scenario(
            folder,
            "air",
            self.kafka.bootstrap,
            on_hdfs(self.hdfs, "data"),
            [
                flights_in("air.flights", "flights"),
                payloads_in("air.clicks", "clicks"),
                flights_in(RETRIED, "delays"),
                payloads_in(STOPPED, "weather"),
            ],
            hive={"url": f"hive://{self.hive.address}"},
            metrics={"port": port},
        )
        rates = {"flights": 400.0, "clicks": 60.0, "delays": 10.0, "weather": 40.0}
        self.streams = {
            topic: stack.enter_context(
                Stream(self.kafka.bootstrap, {topic: TOPICS[topic]}, some_flights(7), in_waves(rate))
            )
            for topic, rate in rates.items()
        }

    def dump(self) -> None:
        """Dump all tables for a while, then end the run."""
        with Running(self.scenario.config) as run:
            self.scenario.wait_for_positions(run)
            time.sleep(EPOCHS_SECONDS)
            assert run.terminate() == 143, run.tail()

    def drop_column(self) -> None:
        """Create Hive's table anew without a column, which the next run notices when it compares the table with the map."""
        lines = [line for (line,) in self.hive.query(f"show create table {RETRIED}")]
        kept = [line for line in lines if "`tailnum`" not in line]
        assert len(kept) == len(lines) - 1, lines
        self.hive.query(f"drop table {RETRIED}", "\n".join(kept))

    def meet_incidents(self, run: Running) -> None:
        """Recreate a topic, and wait until the run has met that and the lack of the column."""
        run.wait_until(lambda: run.said(f"{RETRIED} is set aside"), "retrying one table")
        time.sleep(EPOCHS_SECONDS)
        self.streams["weather"].end()
        self.kafka.delete_topic("weather")
        self.kafka.create_topic("weather")
        run.wait_until(lambda: run.said("kafka.topic_recreated"), "stopped for one table")


def missing(text: str, words: Collection[str]) -> list[str]:
    """Return the words that the text lacks; line breaks and the kind of blank do not matter."""
    plain = " ".join(text.replace("\xa0", " ").split())
    return [word for word in words if word not in plain]


def names_of_this_machine(text: str, hidden: Mapping[str, str]) -> list[str]:
    """Return the names of hosts, directories and users that the text tells."""
    names = {*hidden, "127.0.0.1", str(ROOT), str(Path.home()), f"{getpass.getuser()}@"}
    return sorted(name for name in names if len(name) > 1 and name in text)


def without(text: str, hidden: Mapping[str, str]) -> str:
    for name, replacement in hidden.items():
        text = text.replace(name, replacement)
    return text


def standalone(picture: str) -> str:
    """Return the picture without fonts from elsewhere, and with the same identifiers each time."""
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = re.sub(r"\n\s*<!-- .*? -->", "", picture)
    picture = re.sub(r"terminal-\d+", "terminal", picture).replace("Fira Code, monospace", "monospace")
    return re.sub(r"[ \t]+$", "", picture, flags=re.MULTILINE).rstrip() + "\n"


def draw_top(service: AirService, file: Path) -> str:
    """Write what `top` shows of the run; give the text in it."""
    wiring = wire(load_map(str(service.scenario.config), {}))
    reader = TopReader(wiring, lambda: wiring.kafka(5.0, shared_timeout=True))

    async def watch() -> str:
        view = LiveView(reader, 2.0, hive=True, shown=lambda text: without(shown(text), service.hidden))
        async with view.run_test(size=TERMINAL) as pilot:
            await seen(view, pilot, "a run is alive", "STOP", "retrying", "2 serving", "publish")
            await pilot.pause(5.0)
            return view.export_screenshot()

    with named_map(str(service.scenario.config)):
        picture = without(standalone(asyncio.run(watch())), service.hidden)
    file.write_text(picture)
    return html.unescape(" ".join(re.findall(r">([^<]*)</text>", picture)))


_REPLACE = """(names => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode())
    for (const [name, other] of Object.entries(names))
      walk.currentNode.data = walk.currentNode.data.replaceAll(name, other);
})(%s)"""


def draw_page(service: AirService, folder: Path, file: Path) -> str:
    """Write the page of `report` up to the first chart of epochs; give the text of all of it."""
    page = folder / "report.html"
    done = command("report", service.scenario.config, "-o", str(page))
    assert done.code == 0, done.out + done.log
    with Browser() as browser:
        browser.open(page.as_uri(), PAGE_WIDTH)
        end = browser.ask("document.querySelector('.legend').getBoundingClientRect().bottom")
        browser.open(page.as_uri(), PAGE_WIDTH, height=int(end) + 1, scale=PAGE_SCALE)
        browser.ask(_REPLACE % json.dumps(service.hidden))
        assert browser.complaints == []
        browser.picture(file, whole=False)
        return str(browser.ask("document.body.innerText"))


def main() -> None:
    """Start the services and the run, draw both pictures, end the run, and replace the files if they show what they must."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as name, ExitStack() as stack:
        folder = Path(name)
        top, page = folder / "top.svg", folder / "report.png"
        service = AirService(folder, stack)
        service.dump()
        service.drop_column()
        with Running(service.scenario.config) as run:
            service.meet_incidents(run)
            texts = {top: draw_top(service, top), page: draw_page(service, folder, page)}
            assert run.terminate() == 143, run.tail()
        tables = (STOPPED, RETRIED, *SERVED, "kafka.topic_recreated", "kafka2hive recover --table")
        wanted = {
            top: (*tables, "STOP", "retrying", "2 serving"),
            page: (*tables, "Stopped: needs you", "Fails: ", "2 are fine"),
        }
        for file, text in texts.items():
            lacking = missing(text, wanted[file])
            names = names_of_this_machine(text, service.hidden)
            if lacking or names:
                sys.exit(f"{file.name} lacks {lacking} and tells {names}; docs/images is unchanged:\n{text}")
        if (size := page.stat().st_size) > MOST_BYTES:
            sys.exit(f"{page.name} has {size} bytes, more than {MOST_BYTES}; docs/images is unchanged")
        for file in texts:
            (IMAGES / file.name).write_bytes(file.read_bytes())
            sys.stdout.write(f"written: docs/images/{file.name}\n")


if __name__ == "__main__":
    main()

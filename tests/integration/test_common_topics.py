"""The examples of docs/common-topics.md are what HiveServer2 shows of their records, and `verify --deep` agrees."""

import datetime
import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness.program import command, run_once
from tests.harness.service_map import write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import ROOT
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

PAGE = (ROOT / "docs/common-topics.md").read_text()


@dataclass(frozen=True)
class Example:
    """A section of the page: the records, the table's entry, and what the table or the view holds; codes of dead letters."""

    title: str
    records: list[bytes]
    entry: dict[str, Any]
    shown: str
    header: list[str]
    rows: list[list[str]]
    letters: list[str]


def example(section: str) -> Example:
    title = section.partition("\n")[0]
    (records,) = re.findall(r"^```(?:json|csv)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (entry,) = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[0])
    lines = [line for line in section.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]
    view = re.search(r"^In `(\w+\.\w+)`:$", section, re.MULTILINE)
    texts = [line.replace("\\n", "\n") for line in records.splitlines()]
    values = [text.encode(entry.get("encoding", "utf-8")) for text in texts]
    values = [gzip.compress(value) for value in values] if "compression" in entry else values
    (letters, *_) = [*re.findall(r"^The other records are dead letters: (.*)\.$", section, re.MULTILINE), ""]
    return Example(
        title,
        values,
        entry,
        view[1] if view else entry["table"],
        header,
        rows,
        re.findall(r"`(.*?)`", letters),
    )


EXAMPLES = [example(section) for section in PAGE.split("\n## ")[1:]]


def shown(value: object) -> str:
    """A value as the page writes it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case datetime.datetime():
            return str(value).rstrip("0") if value.microsecond else str(value)
        case _:
            return str(value)


@pytest.mark.timeout(900)
def test_each_example_of_the_page_is_what_hive_shows(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    assert len(EXAMPLES) >= 10
    entries = []
    for one in EXAMPLES:
        topic = f"{hive_database}-{one.entry['topics'][0]}"
        kafka.create_topic(topic, 1)
        produce(kafka.bootstrap, topic, one.records, 1)
        own = {"table": f"{hive_database}.{one.entry['table'].partition('.')[2]}", "topics": [topic]}
        entries.append(one.entry | own | {"start": "earliest"})
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        f"{hdfs.namenode_url}/{hive_database}",
        entries,
        hive={"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"},
        dead_letters={"payload": "drop"},
    )
    run = run_once(config)
    assert run.code == 0, run.log[-3000:]
    found = {}
    for one in EXAMPLES:
        name = f"{hive_database}.{one.shown.partition('.')[2]}"
        columns = ", ".join(f"`{column}`" for column in one.header)
        rows = hive.query(f"select {columns} from {name}")
        found[one.title] = sorted([shown(cell) for cell in row] for row in rows)
    assert found == {one.title: sorted(one.rows) for one in EXAMPLES}
    dead = f"select reason from {hive_database}.{hive_database}_dead_letters order by reason"
    assert hive.query(dead) == [(code,) for one in EXAMPLES for code in sorted(one.letters)]
    verified = command("verify", config, "--deep", "--json")
    assert verified.code == 0, verified.out

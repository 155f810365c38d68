"""Compressed values, other encodings and other serializers' framings on real services: each topic's rows are in Hive."""

import gzip
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import Framing
from tests.contract.java_values import COMPRESSED
from tests.contract.test_other_framings import DATA, GLUE_COMPRESSED, GUID, MESSAGES, SCHEMAS
from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

Headers = list[tuple[str, bytes]]
PAIR = {"a": "bigint", "b": "bigint"}
ID_7, ID_LARGE = bytes(7) + b"\7", b"\0\0\1\0\0\0\0\0"


@dataclass
class Frame:
    """A table and its records; what Hive shows, and the reasons of its dead letters, all in order."""

    keys: dict[str, Any]
    records: list[bytes]
    rows: list[tuple[Any, ...]]
    letters: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=lambda: PAIR)
    headers: list[Headers] | None = None


def text_of(name: str, row_id: int = 7) -> str:
    return json.dumps({"id": row_id, "name": name}, ensure_ascii=False)


def of_compression(name: str) -> Frame:
    values = [bytes.fromhex(value) for value in COMPRESSED[name]]
    names = {"id": "bigint", "name": "string"}
    rows = [(7, " ".join(["Zoë"] * 6))] * len(values)
    return Frame({"compression": name}, [*values, b"{}"], rows, ["compression.damaged"], names)


def of_framing(
    framing: Framing, records: list[bytes] | None = None, headers: list[Headers] | None = None
) -> Frame:
    """Return a frame with two messages and one without a readable head."""
    keys = {"format": "avro", "framing": framing, "schemas": dict(SCHEMAS[framing])}
    records = records or [*MESSAGES[framing], b"\xff" * 30]
    return Frame(keys, records, [(1, 2), (2, 1)], ["avro.frame"], headers=headers)


def of_headers(framing: Framing, name: str, first: bytes, second: bytes) -> Frame:
    headers: list[Headers] = [[(name, first)], [(name, second)], []]
    return of_framing(framing, records=[DATA, DATA, DATA], headers=headers)


def frames() -> dict[str, Frame]:
    """Return the frames by the names of their tables."""
    names = {"id": "bigint", "name": "string"}
    text = text_of("Zoë 東京")
    return {
        **{name: of_compression(name) for name in COMPRESSED},
        "utf_16": Frame(
            {"encoding": "utf-16", "compression": "gzip"},
            [gzip.compress(text.encode("utf-16")), gzip.compress(text.encode())],
            [(7, "Zoë 東京")],
            ["encoding.undecodable"],
            names,
        ),
        "windows": Frame(
            {"encoding": "windows-1252"},
            [text_of("5 €").encode("cp1252"), b"\x81"],
            [(7, "5 €")],
            ["encoding.undecodable"],
            names,
        ),
        "gbk": Frame(
            {"format": "csv", "encoding": "gbk"}, ["7,中文".encode("gbk")], [(7, "中文")], columns=names
        ),
        "single": of_framing("single_object"),
        "glue": replace(
            of_framing("glue", [*MESSAGES["glue"], GLUE_COMPRESSED]),
            rows=[(1, 2), (1, 2), (2, 1)],
            letters=[],
        ),
        "cloudera": of_framing("cloudera"),
        "azure": of_headers(
            "azure",
            "content-type",
            f"avro/binary+{GUID.replace('-', '')}".encode(),
            f"avro/binary+{SCHEMAS['azure'][1][0]}".encode(),
        ),
        "apicurio": of_headers("apicurio_global", "apicurio.value.globalId", ID_7, ID_LARGE),
    }


@pytest.mark.timeout(3600)
def test_every_frame_is_read_into_hive_replayed_and_judged(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    each = frames()
    entries = []
    for name, frame in each.items():
        topic = f"{hive_database}.{name}"
        kafka.create_topic(topic, 1)
        produce(kafka.bootstrap, topic, frame.records, 1, headers=frame.headers)
        entry = {"table": topic, "topics": [topic], "columns": frame.columns, "metadata": PLACE, **frame.keys}
        entries.append(entry | {"bucket": {"time": "record"}, "dead_letter_share": 1.0})

    def config_of(tables: list[dict[str, Any]]) -> Path:
        return write_map(
            tmp_path,
            hive_database,
            kafka.bootstrap,
            f"{hdfs.namenode_url}/{hive_database}",
            tables,
            hive={"url": f"hive://{hive.address}"},
            defaults={"start": "earliest", "flush": {"interval": "1s"}},
        )

    def shown(name: str) -> tuple[list[tuple[Any, ...]], list[str]]:
        """Return the table's rows and the reasons of its letters."""
        order = ", ".join(each[name].columns)
        rows = hive.query(f"select {order} from {hive_database}.{name} order by {order}")
        letters = hive.query(
            f"select reason from {hive_database}.{hive_database}_dead_letters where source_table ="
            f" '{hive_database}.{name}' order by reason"
        )
        return rows, [reason for (reason,) in letters]

    table = f"{hive_database}.gbk"
    mistaken = [entry | {"encoding": "utf-8"} if entry["table"] == table else entry for entry in entries]
    done = run_once(config_of(mistaken))
    assert done.code == 0, done.log[-3000:]
    for name, frame in each.items():
        found = ([], ["csv.utf8"]) if name == "gbk" else (frame.rows, frame.letters)
        assert shown(name) == found, name

    config = config_of(entries)
    replayed = command("dead-letters replay", config, "--table", table)
    assert replayed.code == 0, replayed.log
    assert shown("gbk") == (each["gbk"].rows, [])

    preview = command("preview", config, "--table", f"{hive_database}.glue", "--json")
    assert [row["values"]["a"] for row in preview.document["tables"][0]["rows"]] == [1, 2, 1], (
        preview.document
    )
    audited = command("verify", config, "--deep", "--json")
    assert audited.code == 0, audited.log
    assert not any(found["not_checked"] for found in audited.document["tables"]), audited.document

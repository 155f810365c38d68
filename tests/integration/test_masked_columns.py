"""Masked columns on real services: rows of masks in Hive, and no plain value in anything that is written, logged or shown."""

import hashlib
import hmac
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from kafka2hive.config.mask_keys import fingerprint_of
from tests.harness import shown
from tests.harness.program import Running, command
from tests.harness.service_map import PLACE, ledger_root, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce

COUNT = 200
PLAIN = "plainsecret"
KEY = b"the secret key of all masks"
COLUMNS: dict[str, Any] = {
    "id": "bigint",
    "mail": {"type": "string", "mask": "hmac"},
    "name": {"type": "string", "mask": "hash"},
    "phone": {"type": "string", "mask": {"partial": {"first": 1, "last": 2}}},
    "born": {"type": "array<string>", "mask": "drop"},
    "caller": {"type": "string", "key": "$", "mask": "hmac"},
    "agent": {"type": "string", "header": "agent", "mask": "hash"},
}


def mail(i: int) -> str:
    return f"{PLAIN}.{i % 7}@example.com"


def record(i: int) -> bytes:
    """A person; of every 20 one has a value of the wrong kind in a masked column, and one is cut off."""
    person = {"id": i, "mail": mail(i), "name": f"{PLAIN} {i}", "phone": f"+{PLAIN}{i:02d}", "born": [PLAIN]}
    if i % 20 == 3:
        person["mail"] = [mail(i)]
    if i % 20 == 4:
        person["born"] = PLAIN
    whole = orjson.dumps(person)
    return whole[:-1] if i % 20 == 5 else whole


GOOD = [i for i in range(COUNT) if i % 20 not in (3, 4, 5)]


def by_key(text: str) -> str:
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


def map_of(hive: HiveServer, kafka: KafkaBroker, uri: str, name: str, folder: Path) -> Path:
    key = folder / "mask.key"
    key.write_bytes(KEY + b"\n")
    events = folder / "events"
    events.mkdir()
    every: dict[str, Any] = {"topics": [name], "start": "earliest", "flush": {"interval": "1s"}}
    every |= {"writer": {"compression": "none"}, "dead_letter_share": 1.0}
    tables = [
        {
            **every,
            "table": f"{name}.people",
            "columns": COLUMNS,
            "metadata": {**PLACE, "mask_key": "made_by"},
        },
        {
            **every,
            "table": f"{name}.selected",
            "records": {key: COLUMNS[key] for key in ("id", "mail")},
            "columns": {"id": "bigint", "mail": "string"},
            "sql": "SELECT id, upper(mail) AS mail FROM records",
        },
    ]
    return write_map(
        folder,
        name,
        kafka.bootstrap,
        uri,
        tables,
        hive={"url": f"hive://{hive.address}"},
        dead_letters={"table": f"{name}.dead", "payload": "hash"},
        mask_keys=[{"file": str(key), "fingerprint": fingerprint_of(KEY)}],
        metrics={"port": free_ports(1)[0]},
        spark={"conf": shown.event_log(events)},
    )


def commands(config: Path, name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """What every command that reads prints and logs."""
    people = f"{name}.people"
    for words in (
        ("preview", "--records", "50"),
        ("preview", "--records", "50", "--json"),
        ("dead-letters list",),
        ("dead-letters show", "--table", people, "--limit", "50"),
        ("dead-letters show", "--table", people, "--limit", "50", "--json"),
        ("dead-letters replay", "--table", people, "--plan"),
        ("dead-letters replay", "--table", people, "--json"),
        ("status",),
        ("status", "--json"),
        ("where", f"{name}-0@3"),
        ("validate", "--json"),
        ("doctor",),
        ("report", "--output", str(folder / "report.html")),
        ("bundle", "--output", str(folder / "bundle.tar.gz")),
        ("verify", "--deep", "--json"),
    ):
        done = command(words[0], config, *words[1:])
        assert done.code in (0, 75), (words, done.code, done.out, done.log)
        yield " ".join(words), done.out + done.log
    with tarfile.open(folder / "bundle.tar.gz") as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield f"bundle {member.name}", file.read().decode("latin-1")


def test_no_plain_value_and_no_key_is_in_anything_that_is_written_logged_or_shown(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    name, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    kafka.create_topic(name, 1)
    keys = [mail(i).encode() for i in range(COUNT)]
    headers = [[("agent", f"{PLAIN} agent".encode())] for _ in range(COUNT)]
    produce(kafka.bootstrap, name, list(map(record, range(COUNT))), 1, keys, headers)
    config = map_of(hive, kafka, uri, name, tmp_path)
    seen: dict[str, str] = {}
    ledgers = [LedgerText(tree, ledger_root(uri), f"{name}.{table}") for table in ("people", "selected")]
    with Running(config) as run:
        run.wait_until(lambda: all(each.ends() == {(name, 0): COUNT} for each in ledgers), "all read")
        run.wait_until(lambda: not any(each.newest()["unregistered"] for each in ledgers), "in Hive", pause=1)
        port = int(config.read_text().partition("port: ")[2].split()[0])
        seen |= {page: shown.page(f"http://127.0.0.1:{port}/{page}") for page in ("", "metrics", "status")}
        seen["ps"] = shown.in_ps(run.pid)
        assert run.terminate() == 143, run.tail()
    seen |= dict(commands(config, name, tmp_path))
    seen |= {path: tree.read(path).decode("latin-1") for path in tree.files(uri)}
    seen |= {str(path): path.read_text("latin-1") for path in tmp_path.rglob("*") if path.is_file()}
    del seen[str(tmp_path / "mask.key")]
    assert any("SparkListenerJobEnd" in text for text in seen.values()), "no event log"
    assert (
        any(path.endswith(".parquet.final") for path in seen) and "json.syntax" in seen["dead-letters list"]
    )
    assert [where for where, text in seen.items() if PLAIN in text] == []
    assert [where for where, text in seen.items() if KEY.decode() in text or KEY.hex() in text] == []
    rows = hive.query(f"select id, mail, name, phone, born, caller, agent, made_by from {name}.people")
    agent, fingerprint = hashlib.sha256(f"{PLAIN} agent".encode()).hexdigest(), fingerprint_of(KEY)
    assert sorted(rows) == [
        (
            i,
            by_key(mail(i)),
            hashlib.sha256(f"{PLAIN} {i}".encode()).hexdigest(),
            "+" + "*" * (len(PLAIN) + len(f"{i:02d}") - 2) + f"{i:02d}"[-2:],
            None,
            by_key(mail(i)),
            agent,
            fingerprint,
        )
        for i in GOOD
    ]
    selected = sorted(hive.query(f"select id, mail from {name}.selected"))
    mails = [i for i in range(COUNT) if i % 20 not in (3, 5)]
    assert selected == [(i, by_key(mail(i)).upper()) for i in mails]
    assert 'without_payload": 30' in seen[f"dead-letters replay --table {name}.people --json"]
    audited = command("verify", config, "--deep", "--json").document["tables"]
    assert [finding for table in audited for finding in table["findings"]] == []

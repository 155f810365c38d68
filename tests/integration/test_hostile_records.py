"""Producers and users of the warehouse who mean harm: what they write stays data, below its table, and others go on."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Producer

from kafka2hive.task.fetch.consumer import TaskConsumer
from tests.harness.one_task import run_on
from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, location, write_map
from tests.harness.task_files import (
    offsets,
    table_settings,
    task_settings,
)
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

MIB = 1024 * 1024
STOP = 76
BAD_TEXTS = (
    "../../../etc/cron.d/x",
    "/absolute",
    "..",
    "a'); DROP TABLE users; --",
    "`x` b\\",
    "<script>alert(1)</script>",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202etxt.exe",
    "${jndi:ldap://x/y}",
    "nul\0byte",
    "%2e%2e%2f",
    "dt=2000-01-01/who=me",
)
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def table_of(name: str, topic: str) -> dict[str, Any]:
    return {
        "table": name,
        "topics": [topic],
        "start": "earliest",
        "columns": {"who": "string", "n": "bigint", "hint": {"type": "string", "header": "hint"}},
        "metadata": PLACE,
        "bucket": {"path": "w={who}"},
        "flush": {"interval": "1s"},
    }


def test_hostile_keys_headers_and_payloads_stay_data_below_their_table(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    kafka.create_topic(unique, 1)
    good = [json.dumps({"who": text, "n": n}).encode() for n, text in enumerate(BAD_TEXTS)]
    deep = b'{"who": "deep", "n": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    bad = [text.encode() for text in BAD_TEXTS] + [
        deep,
        b'{"n": 1e999999999, "who": "x"}',
        b'{"who": "x", "n": ',
    ]
    records = good + bad
    keys = [BAD_TEXTS[n % len(BAD_TEXTS)].encode() for n in range(len(records))]
    produce(
        kafka.bootstrap, unique, records, 1, keys,
        [[(text.replace("\0", ""), text.encode()), ("hint", text.encode())] for text in map(bytes.decode, keys)],
    )  # fmt: skip
    name = f"{unique}.t"
    config = write_map(tmp_path, unique, kafka.bootstrap, f"file://{tmp_path}/disk", [table_of(name, unique)])
    assert run_once(config).code == 0
    place = Path(location(f"{tmp_path}/disk", name))
    files = sorted(place.rglob("*.parquet.final"))
    assert all(re.fullmatch(r"w=[^/]+", str(path.parent.relative_to(place))) for path in files)
    rows = [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]
    assert Counter((row["n"], row["hint"]) for row in rows) == Counter(enumerate(BAD_TEXTS))
    beside = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
    assert beside <= {"disk", config.name, f"run-{unique}"}
    for name_of, options in (
        ("status", ()),
        ("dead-letters list", ()),
        ("dead-letters show", ("--table", name, "--limit", "100")),
        ("verify", ("--deep",)),
    ):
        done = command(name_of, config, *options)
        assert done.code == 0, done.out + done.log
        assert not HARMFUL.search((done.out + done.log).replace("\n", "")), name_of
    letters = command("dead-letters list", config, "--json").document
    assert sum(group["count"] for group in letters["groups"]) == len(bad)


def test_a_batch_that_unpacks_to_two_hundred_times_its_size_costs_its_size_once(
    kafka: KafkaBroker, unique: str
) -> None:
    """A broker bounds what is packed; librdkafka unpacks a batch as a whole."""
    kafka.create_topic(unique, 1, {"max.message.bytes": str(MIB)})
    count = 192
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "compression.type": "gzip",
            "batch.size": 400 * MIB,
            "message.max.bytes": 400 * MIB,
            "linger.ms": 2_000,
        }
    )
    for _ in range(count):
        producer.produce(unique, bytes(MIB), partition=0)
    assert producer.flush(300) == 0
    code = f"from tests.integration.test_hostile_records import unpack; unpack({kafka.bootstrap!r}, {unique!r}, {count})"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, timeout=600)
    before, peak = map(int, done.stdout.split())
    assert peak - before < 2.5 * count * MIB, f"{before / MIB:.0f} MiB before, {peak / MIB:.0f} MiB"


def unpack(bootstrap: str, topic: str, count: int) -> None:
    """One task over the batch; prints the most memory that this process held before and after it."""
    consumer = TaskConsumer((("bootstrap.servers", bootstrap),))
    settings = task_settings(bootstrap, table_settings(), stall_seconds=60.0)
    before = most_memory()
    manifest, _ = run_on(consumer, settings, [offsets(topic, 0, 0, count)])
    consumer.close()
    assert manifest.failure is None, manifest.failure
    assert sum(a.account.bytes for a in manifest.accounts) == count * MIB
    sys.stdout.write(f"{before} {most_memory()}")


def most_memory() -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def test_who_may_write_the_table_but_not_the_ledger_is_found(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    kafka.create_topic(unique, 1)
    produce(kafka.bootstrap, unique, [b'{"who": "a", "n": %d}' % n for n in range(100)], 1)
    name = f"{unique}.t"
    config = write_map(tmp_path, unique, kafka.bootstrap, f"file://{tmp_path}/disk", [table_of(name, unique)])
    assert run_once(config).code == 0
    place = Path(location(f"{tmp_path}/disk", name))
    (mine,) = place.glob("w=a/*.parquet.final")
    staging = place / "_tmp"
    staging.mkdir(exist_ok=True)
    coming = mine.with_name(re.sub(r"-e([0-9]{6})-", lambda found: f"-e{int(found[1]) + 9:06d}-", mine.name))
    unfinished = mine.name.removesuffix(".final")
    copy = mine.with_name(re.sub(r"-[0-9a-f]{32}\.", f"-{'0' * 32}.", mine.name))
    for planted in (copy, staging / f"{unfinished}.pending"):
        planted.write_bytes(mine.read_bytes())
    produce(kafka.bootstrap, unique, [b'{"who": "a", "n": %d}' % n for n in range(100, 150)], 1)
    assert run_once(config).code == 0
    status = command("status", config, "--json").document
    assert "150" in json.dumps(status), "the positions are the ledger's"
    told = command("verify", config, "--json")
    assert told.code == STOP, told.out
    assert "verify.untracked" in told.out and copy.name in told.out
    copy.unlink()
    foreign = mine.with_name("part-00000.parquet")
    foreign.write_bytes(mine.read_bytes())
    told = command("verify", config, "--json")
    assert told.code == 0, "others may write to the table, too"
    assert (
        f"1 file in its directories that this ledger did not write; readers see their rows, too: file://{foreign}"
        in (told.document["tables"][0]["notes"])
    )
    foreign.unlink()

    coming.write_bytes(
        mine.read_bytes()
    )  # as if the ledger were an older one: the run stops, and changes nothing
    refused = run_once(config)
    assert refused.code == STOP and "ledger.restored" in refused.log and coming.name in refused.log
    assert command("status", config, "--json").document["tables"][0]["epoch"] == status["tables"][0]["epoch"]


def test_a_committed_file_that_is_exchanged_is_found(kafka: KafkaBroker, unique: str, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    kafka.create_topic(unique, 1)
    produce(kafka.bootstrap, unique, [b'{"who": "a", "n": %d}' % n for n in range(100)], 1)
    name = f"{unique}.t"
    config = write_map(tmp_path, unique, kafka.bootstrap, f"file://{tmp_path}/disk", [table_of(name, unique)])
    assert run_once(config).code == 0
    (mine,) = Path(location(f"{tmp_path}/disk", name)).glob("w=a/*.parquet.final")
    data = mine.read_bytes()
    for exchanged, how in ((data + b"x", []), (data[:100] + bytes([data[100] ^ 1]) + data[101:], ["--deep"])):
        mine.write_bytes(exchanged)
        told = command("verify", config, *how)
        assert told.code == STOP, told.out
        assert mine.name in told.out

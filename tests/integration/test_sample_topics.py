"""A map drafted from a topic reads it: on a real broker, every value is the one that was produced."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.harness.cli_ledger import invoke
from tests.harness.program import command, run_once
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.unit.service.test_draft_of_everyday_records import EVERYDAY, GUID, values_of

COUNT = 400


def test_a_map_drafted_from_fields_has_every_value(kafka: KafkaBroker, unique: str, tmp_path: Path) -> None:
    kafka.create_topic(unique, 2)
    lines = [f'{n};"a ""{n}""; b";{n / 4};2026-11-{1 + n % 28:02};;0{n}'.encode() for n in range(COUNT)]
    produce(kafka.bootstrap, unique, lines, 2)
    drafted = tmp_path / "drafted.yaml"
    drafted.write_text(invoke("sample", unique, "--kafka", kafka.bootstrap).stdout)
    assert command("validate", drafted).code == 0, drafted.read_text()
    table = command("preview", drafted, "--json", "-n", str(COUNT)).document["tables"][0]
    assert (table["error"], table["dead_letters"]) == (None, [])
    rows = sorted((row["values"] for row in table["rows"]), key=lambda values: values["field_1"])
    assert rows == [
        {
            "field_1": n,
            "field_2": f'a "{n}"; b',
            "field_3": n / 4,
            "field_4": f"2026-11-{1 + n % 28:02}",
            "field_5": None,
            "field_6": f"0{n}",
        }
        for n in range(COUNT)
    ]


def _canal(first: int) -> dict[str, Any]:
    return {
        "database": "shop",
        "table": "orders",
        "type": "INSERT",
        "es": 1_795_000_000_000,
        "ts": 1_795_000_000_100,
        "isDdl": False,
        "mysqlType": {
            "id": "bigint(20) unsigned",
            "day": "date",
            "code": "varchar(8)",
            "price": "decimal(8,2)",
        },
        "old": None,
        "data": [
            {"id": str(n), "day": "2026-11-23", "code": f"0{n}", "price": f"{n}.50"}
            for n in range(first, first + 4)
        ],
    }


SEVERAL: dict[str, tuple[str, Callable[[int], str]]] = {
    "lines": (
        "rows: lines",
        lambda n: "\n".join(json.dumps({"n": i, "code": f"0{i}"}) for i in range(n, n + 4)),
    ),
    "array": ("rows: array", lambda n: json.dumps([{"n": i, "code": f"0{i}"} for i in range(n, n + 4)])),
    "fields": ("rows: lines", lambda n: "".join(f'{i};"0{i}";"a\n;"\n' for i in range(n, n + 4))),
    "canal": ("source: canal", lambda n: json.dumps(_canal(n))),
}
WANTED: dict[str, Callable[[int], dict[str, Any]]] = {
    "lines": lambda n: {"n": n, "code": f"0{n}"},
    "array": lambda n: {"n": n, "code": f"0{n}"},
    "fields": lambda n: {"field_1": n, "field_2": f"0{n}", "field_3": "a\n;"},
    "canal": lambda n: {"id": str(n), "day": "2026-11-23", "code": f"0{n}", "price": f"{n}.50", "__op": "c"},
}


def test_maps_drafted_from_messages_of_several_rows_have_every_row(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    for kind, (said, message) in SEVERAL.items():
        topic = f"{unique}-{kind}"
        kafka.create_topic(topic, 2)
        produce(kafka.bootstrap, topic, [message(n).encode() for n in range(0, COUNT, 4)], 2)
        drafted = tmp_path / f"{kind}.yaml"
        drafted.write_text(invoke("sample", topic, "--kafka", kafka.bootstrap).stdout)
        text = drafted.read_text()
        assert f"    {said}\n" in text and f"{COUNT // 4} decode to {COUNT} rows" in text, text
        assert command("validate", drafted).code == 0, text
        (table,) = command("preview", drafted, "--json", "-n", str(COUNT)).document["tables"]
        assert (table["error"], table["dead_letters"]) == (None, []), text
        wanted = [WANTED[kind](n) for n in range(COUNT)]
        found = [{key: row["values"].get(key) for key in wanted[0]} for row in table["rows"]]
        assert sorted(found, key=str) == sorted(wanted, key=str)


def test_one_map_is_drafted_from_several_topics_and_reads_each(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    people = [b"id,full name", *(b"%d,name %d" % (n, n) for n in range(COUNT))]
    orders = [json.dumps({"id": n, "at": "2026-11-23T10:00:00Z"}).encode() for n in range(COUNT)]
    for name, messages in (("people", people), ("orders", orders), ("old.orders", orders), ("none", [])):
        kafka.create_topic(f"{unique}-{name}", 2)
        produce(kafka.bootstrap, f"{unique}-{name}", messages, 2)
    drafted = tmp_path / "drafted.yaml"
    said = invoke("sample", f"{unique}-people", "--pattern", f"{unique}-.*", "--kafka", kafka.bootstrap)
    drafted.write_text(said.stdout)
    assert f"# topic {unique}-none is left out: it holds no record" in said.stdout
    assert f"# topics {unique}-old.orders, {unique}-orders have the same columns" in said.stdout
    assert command("validate", drafted).code == 0, said.stdout
    tables = command("preview", drafted, "--json", "-n", str(2 * COUNT)).document["tables"]
    assert [(table["error"], table["dead_letters"], len(table["rows"])) for table in tables] == [
        (None, [], COUNT)
    ] * 3, said.stdout
    rows = {table["table"].rpartition("_")[2]: [row["values"] for row in table["rows"]] for table in tables}
    assert sorted(row["full_name"] for row in rows["people"]) == sorted(f"name {n}" for n in range(COUNT))


def test_a_map_drafted_for_a_table_that_hive_has_agrees_with_it(
    kafka: KafkaBroker, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    kafka.create_topic(hive_database, 1)
    produce(kafka.bootstrap, hive_database, [b'{"Id": 7, "Price": "1.50", "extra": 1}'] * 3, 1)
    location = f"file://{tmp_path}/warehouse/orders"
    hive.query(
        f"create external table {hive_database}.orders (id int, price decimal(9,2), kafka_offset bigint)"
        f" partitioned by (day string) stored as orc location '{location}'"
    )
    drafted = tmp_path / "drafted.yaml"
    options = ["--table", f"{hive_database}.orders", "--hive", f"hive://{hive.address}"]
    said = invoke(
        "sample", hive_database, "--kafka", kafka.bootstrap, *options, "--storage", f"file://{tmp_path}"
    )
    drafted.write_text(said.stdout)
    assert command("validate", drafted).code == 0, said.stdout
    online = command("validate", drafted, "--online", "--json").document
    told = [check for check in online["checks"] if check["system"] == "hive"]
    assert told and {check["result"] for check in told} == {"ok"}, online
    (table,) = command("preview", drafted, "--json").document["tables"]
    assert (table["error"], table["dead_letters"]) == (None, [])
    assert {str(row["values"]["price"]) for row in table["rows"]} == {"1.50"}


def _shown(value: object) -> str:
    """A value as a text, equal for what the test expects and for what HiveServer2 gives."""
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.rstrip("0") if "." in text and ":" in text else text


def test_hive_shows_everyday_records_by_the_map_that_is_drafted_from_them(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topics = {f"{hive_database}-k{number:02}": name for number, name in enumerate(EVERYDAY)}
    for topic, name in topics.items():
        kafka.create_topic(topic, 1)
        produce(kafka.bootstrap, topic, values_of(EVERYDAY[name][0]) * 3, 1)
    azure = f"{hive_database}-azure"
    kafka.create_topic(azure, 1)
    content = [("content-type", f"avro/binary+{GUID.hex}".encode())]
    produce(kafka.bootstrap, azure, [b"\2\x04ab"] * 3, 1, None, [content] * 3)
    drafted = tmp_path / "drafted.yaml"
    options = ["--table", f"{hive_database}.{{topic}}", "--hive", f"hive://{hive.address}"]
    options += ["--storage", f"{hdfs.namenode_url}/{hive_database}", "--kafka", kafka.bootstrap]
    said = invoke("sample", "--pattern", f"{hive_database}-.*", *options)
    drafted.write_text(said.stdout)
    assert f'schema id ("{GUID}"): write format: avro, framing: azure, under schemas' in said.stdout
    assert command("validate", drafted).code == 0, said.stdout
    done = run_once(drafted)
    assert done.code == 0, done.log[-3000:]
    for topic, name in topics.items():
        wanted = EVERYDAY[name][2]
        columns = [key for key, value in wanted[0].items() if not isinstance(value, dict | list)]
        names = ", ".join(f"`{column}`" for column in columns)
        rows = hive.query(f"select {names} from {hive_database}.{topic.replace('-', '_')}") if columns else []
        found = sorted([_shown(cell) for cell in row] for row in rows)
        assert found == sorted(
            [_shown(row[column]) for column in columns] for row in wanted * 3 if columns
        ), name
    letters = command("dead-letters list", drafted, "--json")
    assert "reason" not in letters.out, letters.out
    verified = command("verify", drafted, "--deep", "--json")
    assert verified.code == 0, verified.out

"""A map drafted from a topic of CSV reads it: on a real broker, every value is the one that was produced."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.cli_ledger import invoke
from tests.harness.program import command
from tests.services.produce import produce

if TYPE_CHECKING:
    from tests.services.kafka_broker import KafkaBroker

COUNT = 400


def test_a_map_drafted_from_fields_has_every_value(kafka: "KafkaBroker", unique: str, tmp_path: Path) -> None:
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

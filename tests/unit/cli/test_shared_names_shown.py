"""If two topics make the name of one table, every command says which topic is not read."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.init import init
from kafka2hive.ledger.snapshot.change import FirstPositions
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.service.wiring import wire
from tests.harness.cli_ledger import invoke, write_map
from tests.harness.mock_broker import Broker, plain_map
from tests.harness.owner import new_owner

LEADS, CAPITALS, TABLE = "crm.eu.Leads-2", "crm.eu.LEADS-2", "crm.eu_leads_2"
PATTERN = r"""  - {table: 'crm.{1}_{2}', pattern: 'crm\.(\w+)\.(.+)', format: raw, bucket: {path: ''}}
"""


@pytest.fixture(scope="module")
def broker() -> Broker:
    broker = Broker()
    for topic in (LEADS, CAPITALS, "flights"):
        broker.produce(topic, 3)
    return broker


@pytest.fixture
def config(tmp_path: Path, broker: Broker) -> Path:
    return plain_map(write_map(tmp_path, PATTERN, broker.address))


def read_leads(config: Path) -> None:
    """Create a ledger for the table with a position in the first topic."""
    wiring = wire(load_map(str(config), {}))
    paths, location = wiring.paths(TABLE), f"{wiring.map.storage.warehouse}/crm.db/eu_leads_2"
    init(wiring.ports, paths, wiring.map.service, location)
    owned = start(wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner), location)).owned
    first = tuple(Position(TopicPartition(LEADS, number), 0, 0) for number in range(4))
    publish(wiring.ports, owned, FirstPositions(positions=first, location=location))


def shown(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = invoke(*arguments)
    return result.exit_code, json.loads(result.stdout)


def conflicts(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return table and topic of each error."""
    found = [(entry["table"], entry.get("error") or entry) for entry in entries]
    return [
        (table, error["message"].split()[1])
        for table, error in found
        if error.get("code") == "route.conflict"
    ]


def test_status_shows_the_newcomer_and_ends_with_75_whether_or_not_a_ledger_is_there(config: Path) -> None:
    code, document = shown("status", "--json", "-c", str(config))
    assert code == 75 and conflicts(document["errors"]) == [(TABLE, CAPITALS), (TABLE, LEADS)]
    read_leads(config)
    code, document = shown("status", "--json", "-c", str(config))
    assert code == 75 and conflicts(document["errors"]) == [(TABLE, CAPITALS)]
    assert [table["state"] for table in document["tables"]] == ["not_running"]
    code, document = shown("status", "--json", "--table", "air.flights", "-c", str(config))
    assert code == 0 and document["errors"] == []
    assert "what to do: give the topic another table" in invoke("status", "-c", str(config)).stdout


def test_validate_online_fails_on_it(config: Path) -> None:
    read_leads(config)
    code, document = shown("validate", "--online", "--json", "-c", str(config))
    failed = [(c["subject"], c["code"]) for c in document["checks"] if c["result"] == "error"]
    assert code == 78 and failed == [(f"topic {CAPITALS}", "route.conflict")]


def test_preview_and_init_name_it_and_show_the_rest(config: Path) -> None:
    read_leads(config)
    code, document = shown("preview", "--json", "-c", str(config))
    assert code == 75 and conflicts([t for t in document["tables"] if t["error"]]) == [(TABLE, CAPITALS)]
    assert [len(t["rows"]) for t in document["tables"] if t["error"] is None] == [3, 3]
    code, document = shown("preview", f"{CAPITALS}-0@0", "--json", "-c", str(config))
    assert code == 75 and conflicts(document["tables"]) == [(TABLE, CAPITALS)]
    code, document = shown("init", "--json", "-c", str(config))
    assert code == 75
    assert [(t["table"], t["result"]) for t in document["tables"]] == [
        ("air.flights", "made"),
        (TABLE, "already_there"),
        (TABLE, "failed"),
    ]


def test_where_says_that_nobody_reads_it(config: Path) -> None:
    read_leads(config)
    result = invoke("where", f"{CAPITALS}-0@1", "-c", str(config))
    assert result.exit_code == 75 and "[route.conflict]" in result.stderr
    assert invoke("where", f"{LEADS}-0@1", "-c", str(config)).exit_code == 0


def test_a_ledger_that_reads_one_of_them_is_recovered_and_planned_as_ever(config: Path) -> None:
    read_leads(config)
    for arguments in (("recover", "--plan"), ("recover",), ("verify",)):
        result = invoke(*arguments, "-c", str(config))
        assert result.exit_code == 0, result.output

"""A command that names something which does not exist fails, suggests the right name, and changes nothing."""

import json
from pathlib import Path

import pytest

from tests.harness.cli_ledger import TABLE, invoke, pending_service, tree
from tests.harness.mock_broker import Broker, plain_map


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "--table", "air.fligths"),
        ("verify", "--against", "air.fligths"),
        ("verify", "--table", TABLE, "--against", "air.fligths"),
        ("recover", "--table", "air.fligths"),
        ("recover", "--table", "air.fligths", "--table", TABLE),
    ],
)
def test_a_table_that_nobody_knows_ends_with_78_and_the_nearest_name(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    service = pending_service(tmp_path)
    before = tree(tmp_path)
    result = invoke(*arguments, "-c", str(service.map))
    assert result.exit_code == 78, result.output
    assert "usage.no_such_table" in result.stdout and f"did you mean {TABLE}?" in result.stdout
    assert tree(tmp_path) == before


@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_dead_letters_are_replayed_only_of_a_known_table_and_without_a_ledger_there_are_none(
    tmp_path: Path, plan: tuple[str, ...]
) -> None:
    service = pending_service(tmp_path)
    before = tree(tmp_path)
    replay = ("dead-letters", "replay", *plan, "-c", str(service.map), "--table")
    result = invoke(*replay, "air.fligths")
    assert result.exit_code == 78 and f"did you mean {TABLE}?" in result.stderr, result.output
    service.map.write_text(service.map.read_text().replace("air.flights", "air.planes"))
    result = invoke(*replay, "air.planes")
    assert result.exit_code == 0 and "no dead letter becomes a row" in result.stdout, result.output
    service.map.write_text(service.map.read_text().replace("air.planes", "air.flights"))
    assert tree(tmp_path) == before


@pytest.mark.parametrize("arguments", [(), ("--table", TABLE)])
def test_a_table_is_not_compared_with_itself(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    service = pending_service(tmp_path)
    result = invoke("verify", *arguments, "--against", TABLE, "-c", str(service.map))
    assert result.exit_code == 78, result.output
    assert "usage.same_table" in result.stdout and "no ledger yet" not in result.stdout


def test_a_table_of_the_map_that_has_no_ledger_yet_is_no_mistake(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    service.map.write_text(service.map.read_text().replace("air.flights", "air.planes"))
    for command in ("verify", "recover"):
        assert invoke(command, "--table", "air.planes", "-c", str(service.map)).exit_code == 0


@pytest.mark.parametrize("option", ["--accept-loss", "--refetch"])
@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_a_lost_file_that_no_ledger_names_is_refused_before_anything_is_touched(
    tmp_path: Path, option: str, plan: tuple[str, ...]
) -> None:
    service = pending_service(tmp_path)
    before = tree(tmp_path)
    typo = service.files[0].final.replace("flights", "fligths")
    result = invoke("recover", *plan, option, typo, "-c", str(service.map))
    assert result.exit_code == 78, result.output
    assert "usage.no_such_file" in result.stderr and typo in result.stderr
    assert tree(tmp_path) == before


def test_a_file_of_an_older_epoch_is_known(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    result = invoke("recover", "--accept-loss", service.files[0].final, "-c", str(service.map))
    assert result.exit_code == 0, result.output
    assert "no such file is lost in any of these ledgers" in result.stdout


@pytest.mark.parametrize("gap", ["fligths:0", "fligths:*"])
def test_a_gap_of_a_topic_that_nobody_reads_is_refused_before_anything_is_touched(
    tmp_path: Path, gap: str
) -> None:
    service = pending_service(tmp_path)
    before = tree(tmp_path)
    result = invoke("recover", "--accept-gap", gap, "-c", str(service.map))
    assert result.exit_code == 78, result.output
    assert "usage.no_such_topic" in result.stderr and "did you mean flights?" in result.stderr
    assert tree(tmp_path) == before


def test_a_gap_of_a_partition_that_the_topic_does_not_have_is_refused(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    before = tree(tmp_path)
    result = invoke("recover", "--accept-gap", "flights:99", "-c", str(service.map))
    assert result.exit_code == 78, result.output
    assert "usage.no_such_topic" in result.stderr and "has no partition 99" in result.stderr
    assert tree(tmp_path) == before
    assert invoke("recover", "--accept-gap", "flights:1", "-c", str(service.map)).exit_code == 0


def test_a_gap_that_is_accepted_where_there_is_none_is_told(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    command = ("recover", "--accept-gap", "flights:0", "-c", str(service.map))
    told = "flights:0: there is no such gap, so nothing was accepted"
    planned, done = invoke(*command, "--plan"), invoke(*command)
    assert (done.exit_code, told in done.stdout, told in planned.stdout) == (0, True, False), done.stdout


@pytest.mark.parametrize("place", ["fligths-0@5", "flights-7@5"])
def test_an_offset_of_a_topic_partition_that_nobody_read_is_a_mistake(tmp_path: Path, place: str) -> None:
    service = pending_service(tmp_path)
    result = invoke("where", place, "-c", str(service.map))
    assert result.exit_code == 78, result.output
    assert "usage.no_such_topic" in result.stderr


def test_an_offset_of_a_topic_that_the_map_reads_and_nobody_began_is_not_read_yet(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    text = service.map.read_text().replace("topics: [flights]", "topics: [flights, planes]")
    service.map.write_text(text)
    result = invoke("where", "planes-0@5", "--json", "-c", str(service.map))
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)["tables"]
    assert (found["table"], found["epoch"]) == (TABLE, None) and "not read yet" in found["answer"]


def test_init_fails_for_a_table_whose_topic_does_not_exist_and_makes_the_others(
    tmp_path: Path, broker: Broker
) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    more = "  - {table: air.crews, topics: [crew], format: raw}\n  - {table: air.planes, topics: [planes], format: raw}\n"
    plain_map(service.map).write_text(service.map.read_text() + more)
    broker.produce("flights", 1)
    broker.produce("planes", 1)
    result = invoke("init", "--json", "-c", str(service.map))
    assert result.exit_code == 75, result.output
    made = {table["table"]: table["result"] for table in json.loads(result.stdout)["tables"]}
    assert made == {"air.flights": "already_there", "air.crews": "failed", "air.planes": "made"}
    failed = {t["table"]: t["error"] for t in json.loads(result.stdout)["tables"]}["air.crews"]
    assert failed["code"] == "kafka.unknown_topic" and "crew" in failed["message"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--kafka", "h:1", "-X", "foo=bar"), "kafka.foo: not a property of librdkafka"),
        (("--kafka", "h:kafka"), "expected host:port,host:port, not 'h:kafka'"),
        (("--kafka", "h:1", "--hive", "foo"), "hive.url: expected hive://"),
    ],
)
def test_a_wrong_option_of_sample_is_not_called_a_mistake_of_a_map(
    options: tuple[str, ...], said: str
) -> None:
    result = invoke("sample", "flights", *options)
    assert result.exit_code == 78, result.output
    assert "the command line has 1 mistake" in result.stderr and said in result.stderr
    assert "correct the options" in result.stderr and "correct the map" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("pause", "--table", TABLE),
        ("dead-letters", "replay", "--table", TABLE),
        ("dead-letters", "list", "--table", TABLE),
        ("dead-letters", "list"),
        ("dead-letters", "show", "flights-0@3"),
        ("where", "flights-0@3"),
        ("compact", "--table", TABLE),
        ("retain", "--table", TABLE),
        ("certificate", f"{TABLE}/dt=2013-01-02", "--wait", "1h"),
        ("reset", "--table", TABLE, "--keep-data", "--yes", TABLE),
    ],
)
def test_a_table_whose_ledger_is_gone_is_not_taken_for_a_new_one(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    service = pending_service(tmp_path)
    (tmp_path / "kafka2hive").rename(tmp_path / "elsewhere")
    before = tree(tmp_path)
    result = invoke(*arguments, "-c", str(service.map))
    assert result.exit_code == 76 and "[ledger.vanished]" in result.stderr, result.output
    assert tree(tmp_path) == before


@pytest.mark.parametrize("option", ["--accept-loss", "--refetch"])
def test_a_file_is_known_by_its_path_without_a_scheme(tmp_path: Path, option: str) -> None:
    """As `hdfs dfs -ls` shows it."""
    service = pending_service(tmp_path)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    path = service.files[0].final.removeprefix("file://")
    for named in (path, f"{path.rpartition('/')[0]}/*"):
        result = invoke("recover", option, named, "-c", str(service.map))
        assert result.exit_code == 0, result.output
        assert "no such file is lost in any of these ledgers" in result.stdout


def test_a_lost_file_is_given_up_by_its_path_without_a_scheme(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    lost = service.files[0].final
    service.staged(0).unlink()
    result = invoke("recover", "--accept-loss", lost.removeprefix("file://"), "-c", str(service.map))
    assert result.exit_code == 0 and f"given up or fetched again: {lost}" in result.stdout, result.output

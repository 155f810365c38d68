"""`status` says of each table whether it is served, retried or stopped; `recover --plan` names the STOP of the next run."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicView, Watermark, any_topic
from kafka2hive.ledger.condition_files import ConditionFiles
from kafka2hive.ledger.heartbeat import Heartbeat
from kafka2hive.ledger.look import look
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.service.start.preview import StartPreview, look_at_kafka
from kafka2hive.service.tables.condition import (
    Retrying,
    RunConditions,
    RunEnd,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
    encode,
)
from kafka2hive.service.topics.routes import routed_by_ledgers
from tests.harness.beating import beating_owner
from tests.harness.cli_ledger import NOBODY, TABLE, Service, invoke, pending_service, tree, write_map
from tests.harness.fake_kafka import FakeKafka
from tests.harness.mock_broker import Broker, plain_map


@pytest.fixture(scope="module")
def broker() -> Broker:
    """A Kafka whose topic flights has more records than the ledger's positions."""
    broker = Broker()
    broker.produce("flights", 20)
    return broker


@pytest.fixture
def service(tmp_path: Path, broker: Broker) -> Service:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    return service


def live_run(
    service: Service, conditions: tuple[TableCondition, ...], owns: str = TABLE
) -> AbstractContextManager[object]:
    said = [encode(RunConditions(conditions)).decode()] if conditions else []
    return beating_owner(service.map, owns, *said)


def shown(service: Service, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run `status --json` and return its exit code and document."""
    result = invoke("status", "--json", "-c", str(service.map), *arguments)
    document = json.loads(result.stdout)
    assert document["exit_code"] == result.exit_code
    return result.exit_code, document


def only(document: dict[str, Any]) -> dict[str, Any]:
    (table,) = document["tables"]
    assert isinstance(table, dict)
    return table


@pytest.mark.parametrize("same", [True, False])
def test_a_map_that_was_changed_since_the_run_loaded_it_is_told(service: Service, same: bool) -> None:
    loaded = load_map(str(service.map), {}).fingerprint if same else "0" * 64
    said = encode(RunConditions((TableCondition(TABLE, Serving()),), map=loaded)).decode()
    with beating_owner(service.map, TABLE, said):
        exit_code, document = shown(service)
        plain = invoke("status", "-c", str(service.map)).stdout
    assert (exit_code, document["map_differs"]) == (0, not same)
    assert ("has loaded another version of this map" in plain) == (not same)


SINCE = "2026-11-21T07:00:00Z"
COLUMNS = Trouble("hive.columns", "Hive has no column b", "ALTER TABLE")
LOST = Trouble("kafka.offsets_lost", "5 offsets are gone unread", "kafka2hive recover --accept-gap flights:0")


@pytest.mark.parametrize(
    ("condition", "code", "state", "text"),
    [
        (TableCondition(TABLE, Serving(), ("column Titel was never filled",)), 0, "serving", "serving"),
        (
            TableCondition(TABLE, Retrying(COLUMNS, "2999-01-01T00:00:05Z", SINCE)),
            75,
            "retrying",
            "retrying since 2026-11-21T07:00:00Z, next at 2999-01-01T00:00:05Z: [hive.columns] Hive has no column b",
        ),
        (
            TableCondition(TABLE, Retrying(COLUMNS, SINCE, SINCE)),
            75,
            "retrying",
            f"retrying since {SINCE}, being tried again now: [hive.columns] Hive has no column b",
        ),
        (
            TableCondition(TABLE, Stopped(LOST)),
            76,
            "manual_intervention_required",
            "what to do: kafka2hive recover --accept-gap flights:0",
        ),
    ],
)
def test_what_a_live_run_says_of_its_table_is_shown(
    service: Service, condition: TableCondition, code: int, state: str, text: str
) -> None:
    with live_run(service, (condition,)):
        exit_code, document = shown(service)
        table = only(document)
        plain = invoke("status", "-c", str(service.map))
    assert (exit_code, table["state"], table["owner_heartbeat"]) == (code, state, True)
    assert table["warnings"] == list(condition.warnings)
    assert (table["error"] or {}).get("code") == {75: "hive.columns", 76: "kafka.offsets_lost"}.get(code)
    assert text in plain.stdout and ", live" in plain.stdout
    for warning in condition.warnings:
        assert f"warning: {warning}" in plain.stdout


def test_a_live_run_that_could_not_take_the_table_over_is_heard_all_the_same(
    service: Service, tmp_path: Path
) -> None:
    with live_run(service, (TableCondition(TABLE, Retrying(COLUMNS, "2026-11-21T08:00:05Z")),), owns=""):
        exit_code, document = shown(service)
    assert (exit_code, only(document)["state"], only(document)["owner_heartbeat"]) == (75, "retrying", False)


def test_a_live_run_that_says_nothing_is_starting_and_its_pending_files_are_its_own_matter(
    service: Service,
) -> None:
    service.staged(0).unlink()
    with live_run(service, ()):
        exit_code, document = shown(service)
    assert (exit_code, only(document)["state"]) == (0, "starting")


HELD = "2999-01-01T00:00:00Z"
"""Later than any take-over of these tests."""


def leave(service: Service, run: RunConditions, owner: str | None = None) -> None:
    """Write the files that a run leaves if it ends like this, or is killed."""
    wiring = service.wiring
    files = ConditionFiles(wiring.ports, wiring.map.storage.ledger_root, "demo", owner or wiring.new_owner())
    if run.end is None:
        files.show(encode(run))
    else:
        files.end(encode(run))


def test_a_run_that_ends_while_it_is_looked_at_is_no_live_one(service: Service) -> None:
    """Its heartbeat is alive when the watching begins, and its outcome is there when the outcomes are read."""
    owner = service.wiring.new_owner()
    said = RunConditions(
        (TableCondition(TABLE, Retrying(COLUMNS, "2026-11-21T08:00:05Z")),), HELD, RunEnd(75)
    )
    leave(service, said, owner)
    runs = Heartbeat(
        service.wiring.ports,
        service.wiring.map.storage.ledger_root,
        "demo",
        owner,
        service.wiring.processes.me(),
    )
    runs.send()
    exit_code, document = shown(service)
    assert (exit_code, document["last_run"]["ended"]) == (75, True)


@pytest.mark.parametrize("end", [RunEnd(75), None])
@pytest.mark.parametrize(
    ("state", "code", "text"),
    [
        (Retrying(COLUMNS, "2026-11-21T08:00:05Z", SINCE), 75, "not running (75)"),
        (Stopped(LOST, SINCE), 76, "not running (76)"),
        (Serving(), 0, "not running "),
    ],
)
def test_in_what_state_the_last_run_left_a_table_is_shown_also_of_one_that_was_killed(
    service: Service, end: RunEnd | None, state: Retrying | Stopped | Serving, code: int, text: str
) -> None:
    leave(service, RunConditions((TableCondition(TABLE, state, ("no record of Titel",)),), HELD, end))
    exit_code, document = shown(service)
    table = only(document)
    assert (exit_code, table["state"], table["owner_heartbeat"]) == (code, "not_running", False)
    last = table["last_outcome"]
    assert (last["at"], last["ended"], last["state"]) == (HELD, end is not None, state.name)
    assert last["warnings"] == ["no record of Titel"]
    assert (document["last_run"]["ended"], document["last_run"]["error"]) == (end is not None, None)
    plain = invoke("status", "-c", str(service.map)).stdout
    assert text in plain and "warning of the last run: no record of Titel" in plain
    if isinstance(state, Serving):
        assert last["error"] is None
    else:
        assert last["error"]["remedy"] == state.trouble.remedy
        assert f"[{state.trouble.code}]" in plain and f"what to do: {state.trouble.remedy}" in plain
        assert last["since"] == SINCE and f" since {SINCE} " in plain
    ended = "the last run ended 0.0 s ago (2999-01-01T00:00:00Z) with 75"
    assert (ended in plain, "was killed or died" in plain) == (end is not None, end is None)


def test_what_ended_the_last_run_is_shown_with_its_exit_code(service: Service) -> None:
    away = Trouble("registry.unavailable", "no registry answers at http://registry", "check it")
    leave(service, RunConditions((), HELD, RunEnd(69, away)))
    exit_code, document = shown(service)
    assert (exit_code, only(document)["last_outcome"], document["last_run"]["exit_code"]) == (69, None, 69)
    assert document["last_run"]["error"]["code"] == "registry.unavailable"
    plain = invoke("status", "-c", str(service.map)).stdout
    assert "with 69: [registry.unavailable] no registry answers" in plain and "what to do: check it" in plain


def test_an_outcome_is_no_more_of_interest_once_the_table_was_taken_over_or_a_run_is_alive(
    service: Service,
) -> None:
    stopped = TableCondition(TABLE, Stopped(LOST))
    leave(service, RunConditions((stopped,), "2020-01-01T00:00:00Z", RunEnd(76)), "etl1-7-" + "a" * 32)
    exit_code, document = shown(service)
    assert (exit_code, only(document)["last_outcome"]) == (0, None), "recovered since"
    leave(service, RunConditions((stopped,), "2020-01-01T00:00:00Z", RunEnd(76)))
    assert shown(service)[0] == 76, "of the very run that has the table"
    leave(service, RunConditions((stopped,), HELD, RunEnd(76)))
    with live_run(service, (TableCondition(TABLE, Serving()),)):
        exit_code, document = shown(service)
    assert (exit_code, only(document)["last_outcome"], document["last_run"]) == (0, None, None)


def test_a_table_that_was_refused_before_it_had_a_ledger_is_shown_with_its_outcome(service: Service) -> None:
    service.map.write_text(service.map.read_text() + "  - {table: air.crews, topics: [crews], format: raw}\n")
    refused = TableCondition("air.crews", Retrying(COLUMNS, HELD))
    gone = TableCondition("air.gone", Stopped(LOST))
    leave(service, RunConditions((refused, gone), HELD, RunEnd(75)))
    exit_code, document = shown(service)
    assert (exit_code, document["not_begun"]) == (75, ["air.crews"])
    (outcome,) = document["not_begun_outcomes"]
    assert (outcome["table"], outcome["error"]["code"]) == ("air.crews", "hive.columns")
    plain = invoke("status", "-c", str(service.map)).stdout
    assert "no ledger yet: air.crews" in plain and "[hive.columns] Hive has no column b" in plain
    assert shown(service, "--table", TABLE)[0] == 0


def test_a_table_that_a_live_run_has_set_aside_before_it_had_a_ledger_is_shown(service: Service) -> None:
    service.map.write_text(service.map.read_text() + "  - {table: air.crews, topics: [crews], format: raw}\n")
    refused = TableCondition("air.crews", Retrying(COLUMNS, HELD), ("topic crews does not exist (yet)",))
    with live_run(service, (TableCondition(TABLE, Serving()), refused)):
        exit_code, document = shown(service)
        plain = invoke("status", "-c", str(service.map)).stdout
        assert shown(service, "--table", TABLE)[0] == 0
    (state,) = document["not_begun_states"]
    assert (exit_code, state["table"], state["state"], state["next_try"]) == (
        75,
        "air.crews",
        "retrying",
        HELD,
    )
    assert (state["error"]["code"], state["warnings"]) == ("hive.columns", list(refused.warnings))
    assert "no ledger yet: air.crews" in plain
    assert f"retrying, next at {HELD}: [hive.columns] Hive has no column b" in plain
    assert "warning: topic crews does not exist (yet)" in plain


def test_a_stop_of_a_live_run_shows_the_command_that_works_beside_it(service: Service) -> None:
    with live_run(service, (TableCondition(TABLE, Stopped(LOST, HELD)),)):
        before = only(shown(service)[1])
        recovered = invoke("recover", "-c", str(service.map), "--table", TABLE)
        shown_next, document = shown(service)
    assert f"`kafka2hive recover --table {TABLE} -c {service.map}`" in before["error"]["remedy"]
    assert "takes the table up by itself" in before["error"]["remedy"] and "--takeover" not in str(before)
    assert recovered.exit_code == 0 and "1 table recovered" in recovered.stdout, recovered.output
    assert shown_next == 76, (
        "the run says it has stopped the table since: it was repaired and has stopped again"
    )
    assert only(document)["error"]["code"] == LOST.code


@pytest.mark.parametrize("since", ["", "2020-01-01T00:00:00Z"])
def test_a_stop_from_before_the_run_has_taken_the_table_up_again_leaves_it_to_no_command(
    service: Service, since: str
) -> None:
    with live_run(service, (TableCondition(TABLE, Stopped(LOST, since)),)):
        before = look(service.wiring.ports.files, service.wiring.paths(TABLE)).generation
        refused = invoke("recover", "-c", str(service.map), "--table", TABLE)
        after = look(service.wiring.ports.files, service.wiring.paths(TABLE)).generation
    assert (
        refused.exit_code == 72
        and f"this table alone: `kafka2hive recover --takeover --table {TABLE} -c {service.map}`"
        in refused.stdout
    )
    assert after == before


def test_a_table_that_was_repaired_since_is_no_stop_any_more(service: Service) -> None:
    with live_run(service, (TableCondition(TABLE, Stopped(LOST, "2020-01-01T00:00:00Z")),), owns=""):
        assert invoke("recover", "-c", str(service.map), "--table", TABLE).exit_code == 0
        exit_code, document = shown(service)
        plain = invoke("status", "-c", str(service.map)).stdout
    table = only(document)
    assert (exit_code, table["state"], table["error"]) == (75, "repaired", None)
    assert "has repaired it; the live run resumes it within half a minute" in plain


def test_a_repair_under_way_is_told_and_no_other_command_or_start_takes_the_table(service: Service) -> None:
    stopped = TableCondition(TABLE, Stopped(LOST, HELD))
    with live_run(service, (stopped,), owns=""), beating_owner(service.map, TABLE, repairs=True):
        exit_code, document = shown(service)
        plain = invoke("status", "-c", str(service.map)).stdout
        refused = invoke("recover", "-c", str(service.map), "--table", TABLE)
    table = only(document)
    assert (exit_code, table["state"], table["error"]) == (75, "repairing", None)
    assert "is repairing it" in plain
    assert refused.exit_code == 75 and "[ledger.repair_under_way]" in refused.stdout
    assert list(service.map.parent.rglob("repair.*")) == [], "who has ended beats no more"


def test_without_a_live_run_a_missing_file_is_found(service: Service, tmp_path: Path) -> None:
    service.staged(1).unlink()
    before = tree(tmp_path)
    exit_code, document = shown(service)
    table = only(document)
    assert (exit_code, table["state"]) == (76, "manual_intervention_required")
    assert table["error"]["code"] == "ledger.missing" and service.files[1].final in table["error"]["remedy"]
    assert tree(tmp_path) == before


def test_without_a_live_run_positions_that_kafka_does_not_have_are_found_also_by_a_plan(
    service: Service, tmp_path: Path, broker: Broker
) -> None:
    assert shown(service)[0] == 0
    assert invoke("recover", "--plan", "-c", str(service.map)).exit_code == 0
    service.map.write_text(service.map.read_text().replace("topics: [flights]", "topics: [flights, planes]"))
    assert shown(service)[0] == 0

    cut_off = Broker()
    cut_off.produce("flights", 8)  # the ledger stands at 15
    service.map.write_text(service.map.read_text().replace(broker.address, cut_off.address))
    before = tree(tmp_path)
    exit_code, document = shown(service)
    assert (exit_code, only(document)["error"]["code"]) == (76, "kafka.log_truncated")
    planned = invoke("recover", "--plan", "-c", str(service.map))
    assert planned.exit_code == 76, planned.output
    assert "would STOP" in planned.stdout and "--accept-gap flights:0" in planned.stdout
    accepted = invoke("recover", "--plan", "--accept-gap", "flights:0", "-c", str(service.map))
    assert accepted.exit_code == 0, accepted.output
    assert tree(tmp_path) == before


class Rewritten(FakeKafka):
    """A log with more records than the ledger's position; with `anew` the last record read has a newer leader epoch."""

    def __init__(self, position: Position, anew: bool) -> None:
        self._position, self._epoch = position, position.leader_epoch + anew

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        return ClusterView("id", {"flights": TopicView("flights", self._position.topic_id, (0,))})

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(0) for tp in topic_partitions}

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(20, self._position.leader_epoch + 1) for tp in topic_partitions}

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        return dict.fromkeys(addresses, self._epoch)


@pytest.mark.parametrize("anew", [True, False])
def test_a_log_that_was_written_anew_below_the_position_is_a_stop_ahead(service: Service, anew: bool) -> None:
    wiring = service.wiring
    view = look(wiring.ports.files, wiring.paths(TABLE))
    (position,) = (replace(p, leader_epoch=3) for p in view.state.positions)
    view = replace(view, state=replace(view.state, positions=(position,)))
    kafka, routed = Rewritten(position, anew), routed_by_ledgers(wiring, [view.state])
    ahead = StartPreview(wiring, kafka, look_at_kafka(kafka, [view], routed), routed).of(view)
    assert (ahead.stop and ahead.stop.code) == ("kafka.log_rewritten" if anew else None)


def test_a_plan_without_kafka_says_what_it_does_not_know(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    result = invoke("recover", "--plan", "-c", str(service.map))
    assert result.exit_code == 69
    assert "it is not known whether the positions still match Kafka" in result.stdout


def test_a_directory_that_another_ledger_feeds_is_found_by_status_and_plan(
    service: Service, tmp_path: Path
) -> None:
    (marker,) = tmp_path.rglob("_kafka2hive_owner")
    marker.write_text('{"ledger": "' + "f" * 32 + '"}')
    assert only(shown(service)[1])["error"]["code"] == "marker.foreign"
    planned = invoke("recover", "--plan", "-c", str(service.map))
    assert planned.exit_code == 76 and "marker.foreign" in planned.stdout


def test_a_table_that_left_the_map_and_one_that_has_no_ledger_yet_are_told_apart(
    service: Service, tmp_path: Path
) -> None:
    service.map.write_text(service.map.read_text().replace(TABLE, "air.planes"))
    exit_code, document = shown(service)
    assert (exit_code, only(document)["state"], document["not_begun"]) == (0, "not_in_map", ["air.planes"])
    plain = invoke("status", "-c", str(service.map)).stdout
    assert "not in the map" in plain and "no ledger yet: air.planes" in plain


def test_a_ledger_that_is_gone_is_found(service: Service, tmp_path: Path) -> None:
    (tmp_path / "kafka2hive").rename(tmp_path / "elsewhere")
    exit_code, document = shown(service)
    assert exit_code == 76 and [e["code"] for e in document["errors"]] == ["ledger.vanished"]


def test_only_the_tables_that_are_named_are_shown(service: Service, tmp_path: Path) -> None:
    service.map.write_text(service.map.read_text() + "  - {table: air.crews, topics: [crews], format: raw}\n")
    assert shown(service, "--table", "air.crews")[1]["tables"] == []
    assert only(shown(service, "--table", TABLE)[1])["table"] == TABLE
    result = invoke("status", "--table", "air.fligths", "-c", str(service.map))
    assert result.exit_code == 78 and f"did you mean {TABLE}?" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "-c", "{map}"),
        ("init", "-c", "{map}"),
        ("plan", "-c", "{map}"),
        ("preview", "-c", "{map}"),
        ("sample", "flights", "--kafka", NOBODY),
    ],
)
def test_without_kafka_a_command_ends_with_69_and_names_the_brokers(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    service = pending_service(tmp_path)
    service.map.write_text(service.map.read_text() + f"hive: {{url: hive://{NOBODY}}}\n")
    given = [argument.format(map=service.map) for argument in arguments]
    result = invoke(*given, "--kafka-timeout", "1")
    assert result.exit_code == 69
    assert f"Kafka at {NOBODY} did not answer" in result.stdout + result.stderr


def test_a_live_run_does_not_make_up_for_a_kafka_that_is_away(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    with live_run(service, (TableCondition(TABLE, Serving()),)):
        exit_code, document = shown(service, "--kafka-timeout", "1")
    assert (exit_code, only(document)["state"], only(document)["lag_records"]) == (69, "serving", None)
    assert f"Kafka at {NOBODY} did not answer" in document["kafka_error"]


def test_a_watch_shows_it_again_until_it_is_ended(service: Service, tmp_path: Path) -> None:
    assert invoke("status", "--watch", "1", "--json", "-c", str(service.map)).exit_code == 2
    program = [sys.executable, "-m", "kafka2hive.cli.main", "status", "--watch", "1", "-c", str(service.map)]
    errors = tmp_path / "errors"  # not a pipe: nobody reads it meanwhile
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            program,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            # a shell that starts the tests in its background makes them, and all they start, ignore SIGINT
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as watching,
    ):
        assert watching.stdout is not None
        try:
            seen = 0
            while seen < 2:
                line = watching.stdout.readline()
                assert line, errors.read_text()
                seen += line.startswith("table ")
            watching.send_signal(signal.SIGINT)
            code = watching.wait(300)
        finally:
            watching.kill()
    assert code == 130, errors.read_text()


WATCH_WITH_A_SIGNAL = """
import os, signal, sys
from kafka2hive.service.inspect import status as module
from kafka2hive.service.run.signals import Interrupted

asked, seen = module.status, []

{interrupt}

def status(*arguments, **options):
    interrupt()
    seen.append(arguments)
    assert len(seen) < 3, "goes on after SIGINT"
    return asked(*arguments, **options)

module.status = status
from kafka2hive.cli.main import main
sys.argv = ["kafka2hive", "status", "--watch", "1", "-c", {path!r}]
main()
"""


DROPPED = """
class interrupt:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass  # the handler is called here; Python drops what it raises
"""
REPORTED_LATE = """
def interrupt():
    if not seen:
        return
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except Interrupted as error:
        raise SystemError("returned a result with an exception set") from error
"""


@pytest.mark.parametrize("interrupt", [DROPPED, REPORTED_LATE], ids=["dropped", "reported late"])
def test_a_watch_ends_when_its_signal_comes_while_a_client_is_closed(
    service: Service, interrupt: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH_WITH_A_SIGNAL.format(path=str(service.map), interrupt=interrupt)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert done.stdout.count("table ") >= 1


def test_the_lag_of_a_table_that_has_not_begun_to_read_is_not_known(tmp_path: Path, broker: Broker) -> None:
    path = plain_map(write_map(tmp_path, bootstrap=broker.address))
    assert invoke("init", "-c", str(path)).exit_code == 0
    (table,) = json.loads(invoke("status", "--json", "-c", str(path)).stdout)["tables"]
    assert (table["partitions"], table["lag_records"]) == ([], None)
    assert "not begun" in invoke("status", "-c", str(path)).stdout


def test_staged_files_are_counted_and_told_apart(service: Service) -> None:
    orphan = service.staged(0).name.replace("-e000002-", "-e000001-")
    service.staged(0).with_name(orphan).write_bytes(b"four")
    _, document = shown(service)
    staged = only(document)["staged"]
    assert staged["committed"]["files"] == 2 and staged["others"] == {"files": 1, "bytes": 4}
    text = invoke("status", "-c", str(service.map)).stdout
    assert "2 files (" in text and "of the committed epoch wait in" in text
    assert "1 file (4 B) of no committed epoch in" in text and "_tmp" in text


def test_a_service_with_a_new_name_shows_whose_ledger_its_table_has(service: Service) -> None:
    service.map.write_text(service.map.read_text().replace("service: demo", "service: flights"))
    plain = invoke("status", "-c", str(service.map)).stdout
    assert f"{TABLE}: its ledger is that of service demo; a run of this service takes it over" in plain
    assert "no ledger yet" not in plain
    assert shown(service)[1]["other_services"] == [{"table": TABLE, "service": "demo"}]

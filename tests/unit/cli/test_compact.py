"""`compact` refuses what it cannot do before it changes anything, and `validate` what it could never do."""

from pathlib import Path

import pytest

from kafka2hive.model.errors import AmbiguousOutcome, ExitCode, TableError
from kafka2hive.service.compaction.command import CompactResult
from tests.harness.cli_ledger import TABLE, invoke, pending_service, tree


@pytest.mark.parametrize(
    ("table", "code", "shown"),
    [
        ("air.fligths", "usage.no_such_table", f"did you mean {TABLE}?"),
        (TABLE, "compact.not_in_map", "give the table `completion` and `compact`"),
    ],
)
def test_a_table_that_is_not_compacted_ends_with_78_and_stays_as_it_is(
    tmp_path: Path, table: str, code: str, shown: str
) -> None:
    service = pending_service(tmp_path)
    before = tree(tmp_path)
    result = invoke("compact", "--table", table, "-c", str(service.map))
    assert result.exit_code == 78, result.output
    assert code in result.output and shown in result.output
    assert tree(tmp_path) == before


def test_an_error_of_the_whole_table_is_seen_in_the_exit_code() -> None:
    unfit = TableError("hive.columns", "Hive has no column kind", "add it")
    assert CompactResult(TABLE, (), error=unfit).exit_code is ExitCode.SET_ASIDE
    silent = AmbiguousOutcome("ledger.no_answer", "no answer")
    assert CompactResult(TABLE, (), error=silent).exit_code is silent.exit_code
    assert CompactResult(TABLE, ()).exit_code is ExitCode.DONE


MAP = """\
service: demo
kafka: {bootstrap.servers: "127.0.0.1:9"}
storage: {uri: "file:///tmp/lake"}
%s
tables:
  - table: air.flights
    topics: [flights]
    columns: {carrier: string, time_hour: timestamp}
    bucket: {field: time_hour, path: "%s"}
    %s
    compact: {target: 64MiB}
"""
HIVE, COMPLETION, DAYS = 'hive: {url: "hive://127.0.0.1:10000"}', "completion: {}", "dt=%Y-%m-%d"

IN_OPEN = '\n    location: "file:///tmp/lake%s"'


@pytest.mark.parametrize(
    ("hive", "path", "completion", "fault"),
    [
        (HIVE, DAYS, COMPLETION, None),
        ("", DAYS, COMPLETION, "needs the hive section"),
        (HIVE, DAYS, "", "needs completion"),
        (HIVE, DAYS, COMPLETION + IN_OPEN % "/_open/", "must not be named _open"),
        (HIVE, DAYS, COMPLETION + IN_OPEN % "/_open/{table}", None),
        (HIVE, "c={carrier}", COMPLETION, "bucket.path c={carrier} must name whole periods"),
    ],
)
def test_validate_names_what_compact_needs(
    tmp_path: Path, hive: str, path: str, completion: str, fault: str | None
) -> None:
    file = tmp_path / "map.yaml"
    text = MAP % (hive, path, completion)
    file.write_text(text if "%Y" in path else text.replace("field: time_hour, ", ""))
    result = invoke("validate", "-c", str(file))
    assert (result.exit_code == 0) is (fault is None), result.output
    assert fault is None or fault in " ".join(result.output.split())


def test_a_table_without_the_section_is_refused_also_if_nothing_was_read_into_it(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    text = MAP.replace("/tmp/lake", str(tmp_path / "lake")) % (HIVE, DAYS, COMPLETION)
    file.write_text(text.replace("    compact: {target: 64MiB}\n", ""))
    result = invoke("compact", "--table", "air.flights", "-c", str(file))
    assert result.exit_code == 78 and "compact.not_in_map" in result.output, result.output

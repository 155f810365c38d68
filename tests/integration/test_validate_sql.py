"""`validate` of tables with SQL: Spark plans each SELECT before any dump, and a wrong one is told at its place."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.harness.cli_ledger import NOBODY
from tests.harness.program import command

RECORDS = "records: {n: bigint, name: string, tags: array<string>}"
WRONG = {
    # the table: (its sql, further keys, the key that is told, what is told)
    "syntax": ("SELECT n,\n  FROM records\n  WHERE WHERE n > 1", "", "sql", "at line 3, column"),
    "column": ("SELECT n,\n upper(nam) AS name FROM records", "", "sql", "`nam` cannot be resolved"),
    "place": ("SELECT n,\n upper(nam) AS name FROM records", "", "sql", "(at line 2, column 8 of the SQL)"),
    "function": ("SELECT n, nofunction(n) AS name FROM records", "", "sql", "routine `nofunction`"),
    "arguments": ("SELECT n, upper(name, 1) AS name FROM records", "", "sql", "requires 1 parameters"),
    "missing": ("SELECT n FROM records", "", "sql", "name is missing"),
    "more": ("SELECT n, name, tags FROM records", "", "sql", "tags is not a column of the table"),
    "types": ("SELECT n, tags AS name FROM records", "", "sql", "name is array<string>, but the table's is string"),
    "count": ("SELECT count(*) AS n, 'x' AS name FROM records", "", "sql", "it aggregates"),
    "exploded": ("SELECT n, explode(tags) AS name FROM records", "", "sql", "several rows of one record"),
    "distinct": ("SELECT DISTINCT n, name FROM records", "", "sql", "DISTINCT drops"),
    "window": ("SELECT n, lag(name) OVER (ORDER BY n) AS name FROM records", "", "sql", "a window function"),
    "joined": ("SELECT a.n, b.name FROM records a JOIN records b ON a.n = b.n", "", "sql", "only lookups can be joined"),
    "random": ("SELECT n, uuid() AS name FROM records", "", "sql", "differs at each call"),
    "sorted": ("SELECT n, name FROM records\nORDER BY n", "", "sql", "ORDER BY has no effect"),
    "lookup": ("SELECT n, name FROM records", "lookups: {{few: 'file://{folder}/nowhere'}}", "lookups", "cannot be read"),
    "joins": (
        "SELECT r.n, f.label AS name FROM records r JOIN few f ON f.code = r.n",
        "lookups: {{few: 'file://{folder}/few'}}",
        "sql",
        "`f`.`label` cannot be resolved",
    ),
    "away": (
        "SELECT n, name FROM records UNION ALL SELECT n, name FROM records",
        "lookups: {{few: 'hdfs://nowhere:1/few'}}",
        "sql",
        "UNION makes several rows",
    ),
    "udfs": ("SELECT n, name FROM records", "udfs: no.such.module", "udfs", "ModuleNotFoundError"),
    "raises": ("SELECT n, name FROM records", "udfs: {folder}/raises.py", "udfs", "of its own"),
}  # fmt: skip
RIGHT = {
    "plain": ("SELECT n, upper(name) AS name FROM records WHERE n > 1", "", "ok"),
    "near": (
        "SELECT r.n, f.name FROM records r LEFT JOIN few f ON f.code = r.n",
        "lookups: {{few: 'file://{folder}/few'}}",
        "ok",
    ),
    "own": ("SELECT n, shout(name) AS name FROM records", "udfs: {folder}/own.py", "ok"),
    "away": (
        "SELECT r.n, f.name FROM records r LEFT JOIN few f ON f.code = r.n",
        "lookups: {{few: 'hdfs://nowhere:1/few'}}",
        "warning",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "few").mkdir()
    pq.write_table(pa.table({"code": [1], "name": ["one"]}), tmp_path / "few" / "part.parquet")
    (tmp_path / "raises.py").write_text("raise RuntimeError('of its own')\n")
    (tmp_path / "own.py").write_text(
        "from pyspark.sql.functions import udf\n\n\n@udf('string')\ndef shout(text):\n    return f'{text}!'\n"
    )
    return tmp_path


def write_map(folder: Path, tables: dict[str, tuple[str, str]]) -> Path:
    text = f'service: s\nkafka: {{bootstrap.servers: "{NOBODY}"}}\nstorage: {{uri: "{folder.as_uri()}"}}\ntables:\n'
    for name, (sql, more) in tables.items():
        block = "".join(f"      {line}\n" for line in sql.splitlines())
        text += (
            f"  - table: db.{name}\n    topics: [{name}]\n    bucket: {{path: ''}}\n    {RECORDS}\n"
            f"    columns: {{n: bigint, name: string}}\n    sql: |\n{block}"
        )
        if more:
            text += f"    {more.format(folder=folder)}\n"
    path = folder / "map.yaml"
    path.write_text(text)
    return path


def test_each_wrong_select_is_told_at_its_line_with_its_reason_and_nothing_else(folder: Path) -> None:
    config = write_map(folder, {name: (sql, more) for name, (sql, more, _, _) in WRONG.items()})
    lines = config.read_text().splitlines()
    done = command("validate", config, "--json")
    assert done.code == 78, done.log
    problems: list[dict[str, Any]] = done.document["problems"]
    assert [p["where"].partition(".")[0] for p in problems] == [f"tables[{n}]" for n in range(len(WRONG))]
    told_of = dict(zip(WRONG, problems, strict=True))
    assert not {name: p["message"] for name, p in told_of.items() if WRONG[name][3] not in p["message"]}
    for name, problem in told_of.items():
        key = WRONG[name][2]
        assert problem["where"].endswith(f".{key}")
        assert lines[problem["line"] - 1].strip().startswith(f"{key}:"), (name, problem)
        assert f"map.yaml:{problem['line']}: {problem['where']}: {problem['message']}" in done.log
        assert "JVM stacktrace" not in problem["message"] and "Project [" not in problem["message"]
    assert "SQLQueryContextLogger" not in done.log and "Traceback" not in done.log


def test_what_spark_can_plan_is_right_and_what_needs_a_cluster_is_said(folder: Path) -> None:
    config = write_map(folder, {name: (sql, more) for name, (sql, more, _) in RIGHT.items()})
    done = command("validate", config, "--json")
    assert done.code == 0, done.log
    checks = {check["subject"]: check for check in done.document["checks"]}
    assert {name: checks[f"db.{name}"]["result"] for name in RIGHT} == {
        name: result for name, (_, _, result) in RIGHT.items()
    }
    assert checks["db.away"]["code"] == "sql.unchecked" and "lookup few" in checks["db.away"]["message"]
    left = {path.name for path in folder.iterdir()} - {"__pycache__"}
    assert sorted(left) == ["few", "map.yaml", "own.py", "raises.py"]
    text = command("validate", config)
    assert "only parsed" in text.out and "--online" in text.out

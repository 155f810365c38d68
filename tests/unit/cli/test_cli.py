"""The commands that need no cluster: their exit codes, their texts, and the files that they must not touch."""

import ast
import io
import subprocess
import sys
from pathlib import Path

import pytest

from kafka2hive.cli import commands
from kafka2hive.cli.terminal.screen import Screen, render, screen_of
from tests.harness.cli_ledger import TABLE, invoke, pending_service, tree, write_map
from tests.harness.mock_broker import Broker, plain_map

COMMANDS = ("run", "recover", "status", "init", "validate", "warm", "demo")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_tells_its_exit_codes(command: str) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert "Exit codes: 0 " in result.stdout


def test_the_exit_codes_of_a_command_name_only_its_own_options() -> None:
    assert "--online" in invoke("validate", "--help").stdout.partition("Exit codes")[2]
    assert "--online" not in invoke("doctor", "--help").stdout.partition("Exit codes")[2]


def test_the_terminal_wraps_the_paragraphs_of_a_commands_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    text = invoke("bundle", "--help").stdout
    assert (
        "The archive has names of topics, tables, hosts and paths, and messages of errors, which may quote"
        in text
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("recover",),
        ("recover", "-c", "map.yaml", "--no-such-option"),
        ("recover", "-c", "map.yaml", "--accept-gap", "flights"),
        ("status", "-c", "map.yaml", "--log-format", "xml"),
        ("no-such-command",),
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments: tuple[str, ...]) -> None:
    assert invoke(*arguments).exit_code == 2


def test_a_gap_that_is_none_is_explained() -> None:
    result = invoke("recover", "-c", "map.yaml", "--accept-gap", "flights")
    assert "TOPIC:PARTITION" in result.stderr


def test_validate_says_what_goes_where_and_no_secret(tmp_path: Path) -> None:
    result = invoke("validate", "-c", str(write_map(tmp_path)))
    assert result.exit_code == 0
    assert "air.flights  <-  flights" in result.stdout
    assert (
        "s3cr3t" not in result.stdout + invoke("validate", "--json", "-c", str(tmp_path / "map.yaml")).stdout
    )


@pytest.mark.parametrize(
    ("flush", "shown"),
    [
        ("{interval: 10s, bytes: 1MiB}", "due every 10 s or 1.0 MB\n"),
        ("auto", "due every 60 s with 16.8 MB, every 600 s with less, or 134.2 MB\n"),
    ],
)
def test_validate_says_when_a_table_is_due(tmp_path: Path, flush: str, shown: str) -> None:
    result = invoke("validate", "-c", str(write_map(tmp_path, more=f"    flush: {flush}\n")))
    assert shown in result.stdout


def test_validate_names_every_mistake_on_standard_error_and_ends_with_78(tmp_path: Path) -> None:
    path = write_map(tmp_path, more="trigerr: 5s\nlimits: {open_files: -1}\n")
    result = invoke("validate", "-c", str(path))
    assert result.exit_code == 78
    assert "map.yaml:9: trigerr:" in result.stderr and "map.yaml:10: limits.open_files" in result.stderr
    assert "did you mean trigger?" in result.stderr
    assert result.stdout == ""


def test_a_map_that_is_not_there_ends_with_78(tmp_path: Path) -> None:
    for command in ("recover", "status", "validate"):
        assert invoke(command, "-c", str(tmp_path / "none.yaml")).exit_code == 78


def test_where_nothing_ever_ran_recover_and_status_say_so_and_make_nothing(tmp_path: Path) -> None:
    path = write_map(tmp_path)
    before = tree(tmp_path)
    recovered, shown = invoke("recover", "-c", str(path)), invoke("status", "-c", str(path))
    assert (recovered.exit_code, shown.exit_code) == (0, 0)
    assert "nothing to recover" in recovered.stdout and shown.stdout.startswith("no ledger yet")
    assert tree(tmp_path) == before


def test_a_ledger_that_vanished_is_a_stop_also_for_recover(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    (tmp_path / "kafka2hive").rename(tmp_path / "elsewhere")
    result = invoke("recover", "-c", str(service.map))
    assert result.exit_code == 76
    assert "ledger.vanished" in result.stdout


def test_a_plan_shows_what_recover_would_do_and_touches_nothing(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    before = tree(tmp_path)
    result = invoke("recover", "--plan", "-c", str(service.map))
    assert result.exit_code == 69, "Kafka was asked, too"
    assert "pending: epoch 2, 2 files to rename, 0 already there" in result.stdout
    assert "the next run resumes at flights  0:15" in result.stdout
    assert tree(tmp_path) == before


def test_recover_moves_pending_files_and_a_second_time_finds_nothing_to_do(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    first = invoke("recover", "-c", str(service.map))
    assert first.exit_code == 0, first.stdout
    assert "rolled forward: epoch 2, 2 files = 2 renamed + 0 already there" in first.stdout
    assert "the map names no Hive: 1 partition for you to register" in first.stdout
    assert service.final(0).exists() and service.final(1).exists()
    second = invoke("recover", "-c", str(service.map))
    assert second.exit_code == 0
    assert "nothing was pending" in second.stdout


def test_a_pattern_gives_up_the_lost_files_that_fit_it_and_no_other(tmp_path: Path) -> None:
    service = pending_service(tmp_path, file_count=3)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    for number in (0, 2):
        service.final(number).unlink()
    first, kept, last = (service.files[number].final for number in range(3))
    assert first.startswith("file:///") and "/dt=2013-01-01/" in first

    none = invoke("recover", "--accept-loss", first.replace("2013", "2014*"), "-c", str(service.map))
    assert none.exit_code == 78 and "is not a file of any table here" in none.stderr
    assert "verify.missing" in invoke("verify", "-c", str(service.map)).stdout

    pattern = first.partition("dt=")[0] + "dt=2013-*"
    accepted = invoke("recover", "--accept-loss", pattern, "-c", str(service.map))
    assert accepted.exit_code == 0, accepted.stdout
    assert first in accepted.stdout and last in accepted.stdout
    assert kept not in accepted.stdout and service.final(1).exists()
    assert "verify.missing" not in invoke("verify", "-c", str(service.map)).stdout
    again = invoke("recover", "--accept-loss", pattern, "-c", str(service.map))
    assert again.exit_code == 0 and f"{pattern}: no such file is lost in any of these ledgers" in again.stdout


def test_recover_finds_a_file_that_was_moved_before_the_kill(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    service.final(0).parent.mkdir()
    service.staged(0).rename(service.final(0))
    result = invoke("recover", "-c", str(service.map))
    assert "2 files = 1 renamed + 1 already there" in result.stdout


def test_a_missing_file_stops_recover_with_the_path_and_the_commands_that_go_on(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    service.staged(1).unlink()
    lost = service.files[1].final
    result = invoke("recover", "-c", str(service.map))
    assert result.exit_code == 76
    assert f"--refetch {lost}" in result.stdout and f"--accept-loss {lost}" in result.stdout
    planned = invoke("recover", "--plan", "-c", str(service.map))
    assert planned.exit_code == 76 and "would STOP" in planned.stdout
    accepted = invoke("recover", "--accept-loss", lost, "-c", str(service.map))
    assert accepted.exit_code == 0, accepted.stdout
    assert "1 given up" in accepted.stdout and f"given up or fetched again: {lost}" in accepted.stdout
    assert service.final(0).exists()
    again = invoke("recover", "--accept-loss", lost, "-c", str(service.map))
    assert f"{lost}: no such file is lost in any of these ledgers" in again.stdout


def test_a_table_that_nobody_knows_is_a_mistake_not_a_success(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    result = invoke("recover", "--table", "air.fligths", "-c", str(service.map))
    assert result.exit_code == 78
    assert "usage.no_such_table" in result.stdout
    assert invoke("recover", "--table", TABLE, "-c", str(service.map)).exit_code == 0


def test_status_shows_pending_work_and_goes_on_without_kafka_which_its_exit_code_says(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    result = invoke("status", "-c", str(service.map))
    assert result.exit_code == 69
    assert "2 files" in result.stdout and "no lag is known" in result.stdout
    assert "the map names no Hive: 1 partition for you to register" in result.stdout
    assert "not registered: air.flights dt=2013-01-01" in result.stdout
    assert "not in Hive yet" not in result.stdout


def test_commands_without_spark_load_neither_spark_nor_arrow_nor_a_client() -> None:
    heavy = ["pyspark", "pyarrow", "duckdb", "pandas", "numpy", "confluent_kafka", "hdfs_native", "pyhive"]
    program = ["import sys, kafka2hive.cli.main"]
    for module in ("recover", "status", "validate", "offsets"):
        source = Path(commands.__file__).parent.joinpath(f"{module}.py").read_text()
        imports = [
            ast.unparse(n) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)
        ]
        assert any("kafka2hive.cli.render" in line for line in imports)
        program += [*imports, f"print({module!r}, [n for n in {heavy} if n in sys.modules])"]
    run = [sys.executable, "-c", "\n".join(program)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == "recover []\nstatus []\nvalidate []\noffsets []\n"


_NEVER = (
    "pydantic",
    "pyspark",
    "pyarrow",
    "duckdb",
    "pandas",
    "numpy",
    "kafka2hive.task",
    "kafka2hive.decode",
)
_ONLY_IF_IN_THE_MAP = (
    "http.client",
    "kafka2hive.hive",
    "kafka2hive.kerberos",
    "kafka2hive.plan",
    "kafka2hive.registry",
)


@pytest.mark.parametrize(
    ("lines", "unwanted"),
    [
        (["recover"], _NEVER),
        (["status", "verify", "report -o -"], (*_NEVER, *_ONLY_IF_IN_THE_MAP)),
    ],
    ids=["recover", "others"],
)
def test_a_whole_command_imports_only_what_it_needs(
    tmp_path: Path, lines: list[str], unwanted: tuple[str, ...]
) -> None:
    """The map names neither Hive nor a schema registry; a broker answers at once."""
    broker = Broker()
    broker.produce("flights", 20)
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    program = (
        "import sys\n"
        "from kafka2hive.cli.main import app\n"
        f"for command in {lines}:\n"
        "    try:\n"
        f"        app([*command.split(), '-c', {str(service.map)!r}])\n"
        "    except SystemExit:\n"
        f"        print('\\n', command, [name for name in {unwanted} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count(TABLE) >= len(lines)
    assert [line for line in done.stdout.splitlines() if line.endswith(" []")] == [
        f" {command} []" for command in lines
    ]


def test_a_bug_ends_with_its_trace_and_70() -> None:
    program = (
        "import sys\n"
        "from kafka2hive.cli.main import app, main\n"
        "@app.command()\n"
        "def stumble() -> None:\n"
        "    raise ZeroDivisionError\n"
        "sys.argv = ['kafka2hive', 'stumble']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 70 and done.stderr.splitlines()[-1] == "ZeroDivisionError", done.stderr


def test_the_code_of_plan_and_run_is_loaded_without_arrow() -> None:
    """A run loads it for its tasks while the JVM starts; `plan` loads it only to read a schema of the registry."""
    loaded = "".join(
        f"import kafka2hive.service.{module}; print({module!r}, 'pyarrow' in sys.modules)\n"
        for module in ("inspect.plan", "run.service")
    )
    run = [sys.executable, "-c", f"import sys\n{loaded}"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == "inspect.plan False\nrun.service False\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "color", "environ", "colored"),
    [
        (_Terminal(), True, {"TERM": "xterm"}, True),
        (_Terminal(), False, {"TERM": "xterm"}, False),
        (_Terminal(), True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (_Terminal(), True, {"TERM": "dumb"}, False),
        (io.StringIO(), True, {"TERM": "xterm"}, False),
    ],
)
def test_colours_only_where_somebody_wants_to_see_them(
    stream: io.StringIO, color: bool, environ: dict[str, str], colored: bool
) -> None:
    assert screen_of(stream, color, environ).color is colored


def test_plain_text_has_no_escapes_and_a_long_path_is_not_broken() -> None:
    path = "file:///" + "x" * 200
    assert render(Screen(), [path]) == path

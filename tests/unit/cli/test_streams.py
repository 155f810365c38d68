"""Where the output of a command goes: full disks, pipes, devices, links, closed streams and narrow encodings."""

import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka2hive.cli.terminal.outcome import output_file
from kafka2hive.service.doctor.bundle import write_bundle
from tests.harness.cli_ledger import TABLE, invoke, pending_service

STATUS = ("status", "--kafka-timeout", "1")
UNAVAILABLE = 69  # no Kafka is there


def run(
    *arguments: str, environ: Mapping[str, str] | None = None, redirection: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell with this redirection."""
    shell = f'"$0" -m kafka2hive "$@" {redirection}'
    return subprocess.run(
        ["sh", "-c", shell, sys.executable, *arguments],
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        ("where", "flights-0@3"),
        ("where", "flights-0@3", "--json"),
        ("report", "-o", "-", "--kafka-timeout", "1"),
    ],
)
def test_a_full_disk_behind_standard_output_is_told_and_is_no_bug(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    config = str(pending_service(tmp_path).map)
    done = run(*command, "-c", config, redirection=">/dev/full")
    assert done.returncode == 78, done.stderr
    assert "[usage.output] standard output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_that_lacks_a_character_still_gets_the_result(tmp_path: Path) -> None:
    config = str(pending_service(tmp_path).map)
    expected = run(*STATUS, "-c", config)
    assert expected.returncode == UNAVAILABLE, expected.stderr
    assert "─" in expected.stdout, "the test needs a character that ASCII lacks"
    done = run(*STATUS, "-c", config, environ={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == expected.returncode, done.stderr
    assert TABLE in done.stdout and "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(tmp_path: Path, closed: str) -> None:
    config = str(pending_service(tmp_path).map)
    assert run(*STATUS, "-c", config, redirection=closed).returncode == UNAVAILABLE


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    """As root, replacing what is not a file would replace /dev/null."""
    pipe, copy = tmp_path / "pipe", tmp_path / "copy"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: copy.write_bytes(pipe.read_bytes()), daemon=True)
    reader.start()
    with output_file(str(pipe)) as draft:
        write_bundle(draft, {"a.txt": lambda: "text"}, str)
    assert pipe.is_fifo()
    reader.join()
    assert tarfile.is_tarfile(copy)


def test_of_a_link_the_target_is_replaced(tmp_path: Path) -> None:
    config = str(pending_service(tmp_path).map)
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "today.html").write_text("the former page")
    link = tmp_path / "newest.html"
    link.symlink_to(pages / "today.html")
    assert invoke("report", "-c", config, "--kafka-timeout", "1", "-o", str(link)).exit_code == 0
    assert link.is_symlink() and (pages / "today.html").read_text().startswith("<!DOCTYPE html>")
    assert [path.name for path in pages.iterdir()] == ["today.html"]

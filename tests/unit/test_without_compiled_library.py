"""Without the compiled library the tests that need it are left out by name and number, and the last lines say so."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTEST_WITHOUT_IT = """
import sys
sys.modules["kafka2hive_native"] = None
import pytest
raise SystemExit(pytest.main(sys.argv[1:]))
"""
FILES = ["tests/contract/test_message_columns.py", "tests/contract/test_protobuf_compiled.py"]


def pytest_over(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command, "-q", "-p", "no:cacheprovider", "-k", "tombstone or compiled", *FILES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_not_covered_without_the_library_is_counted_at_the_end() -> None:
    told = pytest_over("-c", PYTEST_WITHOUT_IT)
    found = re.search(r"NOT COVERED, for kafka2hive-native is not installed: (\d+) tests were left out", told)
    assert found is not None, told
    assert int(found[1]) >= 6
    assert "passed" in told

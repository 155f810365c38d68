"""Write what a package of kafka2hive installs next to the program: the manual page and the completion of three shells.

`python -m tests.pages.program_files FOLDER`; the places in FOLDER are those of [tool.setuptools.data-files].
"""

import datetime
import os
import subprocess
import sys
from pathlib import Path

from tests.pages.manual import manual

ROOT = Path(__file__).parents[2]
_PROGRAM = "import typer.main; from kafka2hive.cli.main import app; typer.main.get_command(app)(prog_name='kafka2hive')"
_AT_ONCE = """\
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _kafka2hive_completion "$@" # the first Tab has loaded this file, and wants its answer
else
  compdef _kafka2hive_completion kafka2hive
fi
"""


def completion(shell: str) -> str:
    """Return the script that Typer makes for bash, zsh or fish."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "PYTHONPATH": str(ROOT), "_KAFKA2HIVE_COMPLETE": f"source_{shell}"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip() + "\n"


def autoloaded(zsh: str) -> str:
    """Return zsh's script so that it works as a file that zsh finds by itself, from the first Tab on."""
    definition, registration, rest = zsh.partition("compdef _kafka2hive_completion")
    assert registration and rest.split() == ["kafka2hive"]
    return definition + _AT_ONCE


def program_files(day: datetime.date) -> dict[str, str]:
    """Return the text of each file by its place."""
    return {
        "man/kafka2hive.1": manual(day),
        "bash/kafka2hive": completion("bash"),
        "zsh/_kafka2hive": autoloaded(completion("zsh")),
        "fish/kafka2hive.fish": completion("fish"),
    }


if __name__ == "__main__":
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    today = (
        datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        if seconds
        else datetime.datetime.now(datetime.UTC)
    )
    for place, text in program_files(today.date()).items():
        path = Path(sys.argv[1], place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

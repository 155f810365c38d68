"""The demo's console, and its directory, which is removed after the last step, Ctrl-C or SIGTERM."""

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from kafka2hive.model.errors import ConfigError, ExitCode


class Console:
    """Writes plain text to a stream; steps are numbered and begin with the seconds since the start."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._step = 0

    @property
    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._began

    def step(self, title: str) -> None:
        """Begin the next step."""
        self._step += 1
        self._write(f"\n[{self.seconds:5.1f} s] {self._step}. {title}\n")

    def say(self, text: str) -> None:
        """Write one line about the current step."""
        self._write(f"          {text}\n")

    def show(self, lines: Iterable[str]) -> None:
        """Show the lines of a file, of a listing or of a program's output verbatim."""
        self._write("".join(f"            {line}".rstrip() + "\n" for line in lines))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


@contextmanager
def workspace(directory: Path | None, keep: bool, console: Console) -> Iterator[Path]:
    """Yield an empty directory, which is removed at the end unless `keep`.

    SIGTERM ends the block with an exception (SystemExit, code 143). Raises ConfigError if a given `directory` is not empty.
    """
    path = _prepare(directory)
    handler = signal.signal(signal.SIGTERM, lambda *_: sys.exit(ExitCode.TERMINATED))
    try:
        yield path
    except KeyboardInterrupt:
        console.say("interrupted: cleaning up")
        raise
    finally:
        # a second Ctrl-C must not interrupt the removal
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
        if keep:
            console.say(f"kept: {path}")
        else:
            shutil.rmtree(path, ignore_errors=True)
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGTERM, handler)


def _prepare(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="kafka2hive-demo-")).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise ConfigError("usage.directory", f"{directory} is not empty", "name a new directory")
    return directory.resolve()

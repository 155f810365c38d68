"""The demo's output."""

import time
from collections.abc import Iterable
from typing import TextIO


class Console:
    """Plain text on a stream; steps are numbered and begin with the seconds since the start."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._step = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def step(self, title: str) -> None:
        self._step += 1
        self._write(f"\n[{self.seconds:5.1f} s] {self._step}. {title}\n")

    def say(self, text: str) -> None:
        self._write(f"          {text}\n")

    def show(self, lines: Iterable[str]) -> None:
        """Something shown word by word: a file, a listing, a program's output."""
        self._write("".join(f"            {line}".rstrip() + "\n" for line in lines))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

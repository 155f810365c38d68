"""What the demo says, and when."""

import time
from collections.abc import Iterable
from typing import TextIO


class Console:
    """Plain words on a stream; acts are numbered, and every act says how many seconds have passed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._act = 0

    @property
    def seconds(self) -> float:
        """Seconds since the demo began."""
        return time.monotonic() - self._began

    def act(self, title: str) -> None:
        """A new act begins."""
        self._act += 1
        self._write(f"\n[{self.seconds:5.1f} s] {self._act}. {title}\n")

    def say(self, text: str) -> None:
        """A sentence within the act."""
        self._write(f"          {text}\n")

    def show(self, lines: Iterable[str]) -> None:
        """Something shown word by word: a file, a listing, a program's output."""
        self._write("".join(f"            {line}".rstrip() + "\n" for line in lines))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

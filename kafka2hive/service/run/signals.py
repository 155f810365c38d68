"""SIGTERM and SIGINT: while a run has nothing to end in order they may interrupt whatever it does, else they are noted."""

import signal
import threading
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """By SIGTERM or SIGINT.

    Not KeyboardInterrupt itself: where that passes through the `exec` of a text, as dataclasses are made, CPython ends
    the process by SIGINT at last, although it was caught.
    """


class StopSignals:
    """`stop` is set, `number` is the first of them."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.number: int | None = None
        self._interrupt = False

    def listen(self) -> None:
        """From now on a signal sets `stop`, and nothing else happens."""
        signal.signal(signal.SIGTERM, self._heard)
        signal.signal(signal.SIGINT, self._heard)

    def interrupt(self) -> None:
        """From now on the first signal raises Interrupted, too; at once, if there was one."""
        self._interrupt = True
        if self.stop.is_set():
            raise Interrupted

    def only_note(self) -> None:
        """As after `listen`."""
        self._interrupt = False

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        interrupt, self._interrupt = self._interrupt, False
        self.number = self.number or number
        self.stop.set()
        if interrupt:
            raise Interrupted

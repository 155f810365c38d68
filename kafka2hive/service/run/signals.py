"""SIGTERM and SIGINT: while a run has nothing to shut down, they may interrupt it anywhere; later they are only noted.

If the process has a terminal, SIGHUP means that the terminal was closed, and counts as SIGTERM. Otherwise (`systemctl kill
-s HUP`) the run reloads its map.
"""

import os
import signal
import threading
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The run was interrupted by SIGTERM or SIGINT.

    It is not KeyboardInterrupt itself: if that passes through an `exec` of source text, as `dataclass` does, CPython ends the
    process by SIGINT at exit although the exception was caught.
    """


def is_interruption(error: BaseException) -> bool:
    """Return whether a signal caused the error.

    If the signal comes while a Kafka client is being closed, confluent_kafka may return with Interrupted still set; CPython
    then reports a SystemError at a later call, with Interrupted as its cause.
    """
    return isinstance(error, Interrupted) or (
        isinstance(error, SystemError) and isinstance(error.__cause__, Interrupted)
    )


class StopSignals:
    """The signals that a run has received. The first sets `stop` and `number`; `hung_up`: a SIGHUP has asked for a reload."""

    def __init__(self) -> None:
        self.hung_up = False
        self._has_terminal = False
        self.stop = threading.Event()
        self.number: int | None = None
        self._interrupt = False

    def listen(self) -> None:
        """Install the handlers: from now on a signal only sets `stop`."""
        signal.signal(signal.SIGTERM, self._note)
        signal.signal(signal.SIGINT, self._note)
        self._has_terminal = _has_terminal()
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, self._note_hangup)

    def interrupt(self) -> None:
        """Let the first signal also raise Interrupted from now on. Raises Interrupted at once if a signal came before."""
        self._interrupt = True
        if self.stop.is_set():
            raise Interrupted

    def only_note(self) -> None:
        """Let a signal only set `stop` again, as after `listen`."""
        self._interrupt = False

    def _note(self, number: int, _frame: FrameType | None) -> None:
        interrupt, self._interrupt = self._interrupt, False
        self.number = self.number or number
        self.stop.set()
        if interrupt:
            raise Interrupted

    def _note_hangup(self, _number: int, frame: FrameType | None) -> None:
        if self._has_terminal:
            self._note(signal.SIGTERM, frame)
        else:
            self.hung_up = True


def _has_terminal() -> bool:
    """Return whether the process has a terminal that is open."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True

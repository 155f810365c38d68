"""SIGTERM and SIGINT: while a run has nothing to end in order they may interrupt whatever it does, else they are noted.

SIGHUP of a terminal that is closed counts as SIGTERM; without a terminal (`systemctl kill -s HUP`) it ends nothing.
"""

import os
import signal
import threading
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """By SIGTERM or SIGINT.

    Not KeyboardInterrupt itself: where that passes through the `exec` of a text, as dataclasses are made, CPython ends
    the process by SIGINT at last, although it was caught.
    """


def is_interruption(error: BaseException) -> bool:
    """Whether a signal caused the error.

    If the signal comes while a Kafka client is being closed, confluent_kafka may return with Interrupted still set; CPython
    then reports a SystemError at a later call, with Interrupted as its cause.
    """
    return isinstance(error, Interrupted) or (
        isinstance(error, SystemError) and isinstance(error.__cause__, Interrupted)
    )


class StopSignals:
    """`stop` is set, `number` is the first of them. `hung_up`: SIGHUP came, and ends nothing."""

    def __init__(self) -> None:
        self.hung_up = False
        self._has_terminal = False
        self.stop = threading.Event()
        self.number: int | None = None
        self._interrupt = False

    def listen(self) -> None:
        """From now on a signal sets `stop`, and nothing else happens."""
        signal.signal(signal.SIGTERM, self._heard)
        signal.signal(signal.SIGINT, self._heard)
        self._has_terminal = _has_terminal()  # one that was closed is none
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, self._hung_up)

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

    def _hung_up(self, _number: int, frame: FrameType | None) -> None:
        if self._has_terminal:
            self._heard(signal.SIGTERM, frame)
        else:
            self.hung_up = True


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True

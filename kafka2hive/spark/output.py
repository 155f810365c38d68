"""Relay the output of Spark's JVM and Python workers to this process's log, so that it has one format and redacted secrets."""

import logging
import os
import re
import threading
from dataclasses import dataclass
from typing import BinaryIO

log = logging.getLogger("kafka2hive.spark")

_HEAD = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (.*)", re.DOTALL)
_LEVELS = {
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
}
_BANNER = (  # printed at each start, whatever the settings
    "WARNING: Using incubator modules",
    "Using Spark's default log4j profile",
    "Setting default log level to",
    "Setting Spark log level to",
    "To adjust logging level use",
    "WARN Utils: Your hostname",
    "WARN Utils: Set SPARK_LOCAL_IP",
    "WARN NativeCodeLoader: Unable to load native-hadoop",
)


@dataclass(frozen=True, slots=True)
class SparkLine:
    """One printed line: the level at which it is logged, and its text without Spark's own time and level."""

    level: int
    text: str


def read_line(text: str, before: int) -> SparkLine:
    """Parse a line; one without time and level (a stack) gets `before`, the level of the previous line."""
    found = _HEAD.fullmatch(text)
    if any(part in text for part in _BANNER):
        return SparkLine(logging.DEBUG, found[2] if found else text)
    if found is None:
        return SparkLine(before, text)
    return SparkLine(_LEVELS.get(found[1], logging.DEBUG), found[2])


class SparkOutput:
    """A pipe to hand to the JVM as its standard output and error; a thread logs what comes out of it until it closes."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self._thread = threading.Thread(
            target=_relay, args=(os.fdopen(reading, "rb"),), name="spark-output", daemon=True
        )
        self._thread.start()

    def handed_over(self) -> None:
        """Close this process's copy once the JVM has its own, so that the pipe ends with the last process that holds it."""
        os.close(self.writing)

    def wait(self) -> None:
        """Wait until everything is logged, which is after the last process that holds the pipe has ended."""
        self._thread.join()


def _relay(pipe: BinaryIO) -> None:
    level = logging.INFO
    with pipe:
        for raw in pipe:
            line = read_line(raw.decode(errors="replace").rstrip(), level)
            if line.level != logging.DEBUG:
                level = line.level
            if line.text:
                log.log(line.level, "%s", line.text)

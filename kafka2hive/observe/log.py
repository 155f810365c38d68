"""Logging: lines for people on a terminal, JSON lines otherwise; secrets are redacted in both.

If the storage refuses a step (permission, quota, a full disk), the refusal is logged once an hour, not at each try. So is a
warning about a condition that is checked again and again (`RECURRING`).
"""

import json
import logging
import re
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from enum import Enum
from logging.handlers import WatchedFileHandler
from typing import TextIO

from kafka2hive.config.command_blanks import CommandBlanks
from kafka2hive.model.text import printable, printable_json, utc_text, with_local_times


class LogFormat(Enum):
    """The values of `--log-format`; auto: human on a terminal, JSON otherwise."""

    AUTO = "auto"
    HUMAN = "human"
    JSON = "json"


class LogLevel(Enum):
    """The values of `--log-level`: the lowest level to log. Debug includes every change to the file system."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def number(self) -> int:
        """Return the level as a number of `logging`."""
        return logging.getLevelNamesMapping()[self.name]


# Libraries that log every statement, or log errors that kafka2hive's own errors explain better.
_QUIET = {
    "thrift": logging.CRITICAL,
    "pyhive": logging.WARNING,
    "py4j": logging.WARNING,
    "TCLIService": logging.WARNING,
}
_CHANGES = "kafka2hive.storage"
# Loggers of every change to the file system (create, rename, delete) and of every step of the protocol.
_EVERY_CHANGE = (_CHANGES, "kafka2hive.ledger")
_COLOURS = {logging.WARNING: "\033[33m", logging.ERROR: "\033[31m", logging.CRITICAL: "\033[31;1m"}
_PLAIN = "\033[0m"
_LINE_BEGIN = re.compile(r"\n(?! )")
SILENT_SECONDS = 3600.0
"""A repeated refusal or recurring record is logged again only after this time."""
RECURRING: dict[str, object] = {"is_recurring": True}
"""`extra` of a record that is logged once an hour as long as its text is the same."""
_REFUSALS = frozenset({"Denied", "NoRoom"})
_BLOCKED = "blocked"


def configure(
    log_format: LogFormat = LogFormat.AUTO,
    level: int = logging.INFO,
    secrets: Collection[str] = (),
    stream: TextIO | None = None,
    *,
    blanks: CommandBlanks | None = None,
    audit_log: str | None = None,
) -> None:
    """Send all logging to `stream` (default: standard error); a second call replaces the first one's settings.

    `secrets` are values that must never appear: each is written as `***`. `blanks` fill the commands of messages. The file
    `audit_log`, if any, gets all changes to the file system as JSON lines. Raises OSError if the file cannot be opened.
    """
    out = sys.stderr if stream is None else stream
    human = log_format is LogFormat.HUMAN or (log_format is LogFormat.AUTO and out.isatty())
    handler = logging.StreamHandler(out)
    blanks = CommandBlanks() if blanks is None else blanks
    inner = HumanFormatter(blanks, colour=out.isatty()) if human else JsonFormatter(blanks)
    handler.setFormatter(RedactingFormatter(inner, secrets))
    handler.addFilter(OncePerHour())
    logging.captureWarnings(True)
    audit = [] if audit_log is None else [_audit_handler(audit_log, secrets)]
    logging.basicConfig(level=level, handlers=[handler, *audit], force=True)
    for name, quiet in _QUIET.items():
        logging.getLogger(name).setLevel(max(quiet, level))
    change_level = (
        level  # the lowest level at which `stream` gets changes to the file system and steps of the protocol
    )
    if human and level > logging.DEBUG:
        change_level = max(level, logging.WARNING)
    handler.addFilter(
        lambda record: record.levelno >= change_level or not record.name.startswith(_EVERY_CHANGE)
    )
    for name in _EVERY_CHANGE:
        is_audited = bool(audit) and name == _CHANGES
        logging.getLogger(name).setLevel(min(change_level, logging.DEBUG) if is_audited else change_level)


def _audit_handler(path: str, secrets: Collection[str]) -> logging.Handler:
    """Return a handler for changes to the file system only; it creates the file again after logrotate has moved it."""
    handler = WatchedFileHandler(path)
    handler.setFormatter(RedactingFormatter(JsonFormatter(), secrets))
    handler.addFilter(lambda record: record.name == _CHANGES)
    return handler


class HumanFormatter(logging.Formatter):
    """Formats records as `2026-11-21T07:31:02Z (08:31:02 CET) WARNING text`; the level is left out if it is INFO."""

    def __init__(self, blanks: CommandBlanks | None = None, *, colour: bool = False) -> None:
        super().__init__()
        self._blanks = CommandBlanks() if blanks is None else blanks
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """Return one record; an exception's trace follows on further lines."""
        moment = with_local_times(utc_text(record.created))
        level = "" if record.levelno == logging.INFO else f"{record.levelname} "
        text = f"{moment} {level}{self._blanks.fill(record.getMessage())}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        # later lines are indented, so that no line of a message looks like a log line
        text = _LINE_BEGIN.sub("\n  ", printable(text))
        colour = _COLOURS.get(record.levelno, "") if self._colour else ""
        return f"{colour}{text}{_PLAIN}" if colour else text


class JsonFormatter(logging.Formatter):
    """Formats records as JSON objects: `time` (UTC), `level`, `logger`, `message` and the `fields` of `extra`."""

    def __init__(self, blanks: CommandBlanks | None = None) -> None:
        super().__init__()
        self._blanks = CommandBlanks() if blanks is None else blanks

    def format(self, record: logging.LogRecord) -> str:
        """Return one record on one line; an exception's trace is in `exception`."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            line.update({key: value for key, value in fields.items() if key not in line})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return printable_json(self._blanks.fill_json(json.dumps(line, ensure_ascii=False, default=str)))


class Redaction:
    """Replaces secrets in a string, including their JSON-escaped forms."""

    def __init__(self, secrets: Collection[str]) -> None:
        spellings = {
            s for secret in secrets if secret for s in (secret, json.dumps(secret, ensure_ascii=False)[1:-1])
        }
        self._spellings = sorted(spellings, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text with `***` in place of each secret."""
        for spelling in self._spellings:
            text = text.replace(spelling, "***")
        return text


class RedactingFormatter(logging.Formatter):
    """Replaces secrets in the text of another formatter."""

    def __init__(self, inner: logging.Formatter, secrets: Collection[str]) -> None:
        super().__init__()
        self._inner = inner
        self._redact = Redaction(secrets)

    def format(self, record: logging.LogRecord) -> str:
        """Return the text with `***` in place of each secret."""
        return self._redact(self._inner.format(record))


class OncePerHour(logging.Filter):
    """Passes every record, but repetitions of a record only once an hour.

    A RECURRING record repeats one with the same text; a refusal by the storage repeats one of the same kind, step and path.
    A record of the ledger's logger is a refusal if one of its arguments is a Denied or NoRoom error, or "blocked", which the
    retry loop logs. The text of the error is not compared, because it names a draft, and every attempt writes a new one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[object, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is logged."""
        key = _repetition_key(record)
        if key is None:
            return True
        last_logged = self._logged.get(key)
        if last_logged is not None and record.created - last_logged < SILENT_SECONDS:
            return False
        self._logged[key] = record.created
        return True


def _repetition_key(record: logging.LogRecord) -> tuple[object, ...] | None:
    """Return the key that a record shares with its repetitions; None for a record that is always logged."""
    if getattr(record, "is_recurring", False):
        return (record.getMessage(),)
    args = record.args
    if record.name != "kafka2hive.ledger" or not isinstance(args, tuple) or not any(map(_is_refusal, args)):
        return None
    shown = (arg for arg in args if not isinstance(arg, float))
    return (record.msg, *(type(arg).__name__ if _is_refusal(arg) else arg for arg in shown))


def _is_refusal(argument: object) -> bool:
    return type(argument).__name__ in _REFUSALS or argument == _BLOCKED

"""What every command does: load the map, set up logging, show or write the result, turn errors into text and exit codes."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from kafka2hive.cli.terminal.document import Document, json_text
from kafka2hive.cli.terminal.screen import Screen, standard_output
from kafka2hive.config.command_blanks import CommandBlanks
from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_map
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError
from kafka2hive.model.text import printable, printable_coloured, with_local_times
from kafka2hive.observe.log import LogFormat, LogLevel, configure

_blanks: ContextVar[CommandBlanks] = ContextVar("blanks of shown commands", default=CommandBlanks())  # noqa: B039 (frozen)


@contextmanager
def named_map(config: str) -> Iterator[None]:
    """Name the map at the path `config` in all commands that the block shows."""
    token = _blanks.set(CommandBlanks.of_path(config, os.environ).in_shell(config, os.environ))
    try:
        yield
    finally:
        _blanks.reset(token)


def with_map(
    config: str,
    log_format: LogFormat,
    level: int,
    command: Callable[[ServiceMap], int],
    *,
    audit_log: str | None = None,
) -> int:
    """Load the map, set up logging, run `command` and return its exit code.

    A named error is printed to standard error, and its exit code is returned. `audit_log` is passed to `configure`.
    """
    with named_map(config):
        return _with_map(config, log_format, level, command, audit_log=audit_log)


def _with_map(
    config: str,
    log_format: LogFormat,
    level: int,
    command: Callable[[ServiceMap], int],
    *,
    audit_log: str | None,
) -> int:
    try:
        service_map = load_map(config, os.environ)
        blanks = CommandBlanks.of_map(service_map, os.environ)
        _blanks.set(blanks.in_shell(config, os.environ))
        try:
            configure(
                log_format,
                level,
                service_map.secrets,
                blanks=blanks,
                audit_log=audit_log,
            )
        except OSError as error:
            raise ConfigError(
                "usage.audit_log", f"--audit-log cannot be opened: {error}", "name a file that can be written"
            ) from error
        return command(service_map)
    except Kafka2HiveError as error:
        tell_error(error)
        return int(error.exit_code)
    except KeyboardInterrupt:
        logging.shutdown()
        print("interrupted", file=sys.stderr)  # noqa: T201 (this is the command line)
        return int(ExitCode.INTERRUPTED)


def with_changes(
    config: str,
    log_format: LogFormat,
    log_level: LogLevel | None,
    audit_log: str | None,
    command: Callable[[ServiceMap], int],
) -> int:
    """Run a command that changes files or Hive, in the same way as `with_map`.

    On a terminal, where the command prints its result, only warnings are logged by default.
    """
    on_terminal = log_format is LogFormat.AUTO and sys.stderr.isatty()
    level = logging.WARNING if on_terminal else logging.INFO
    return with_map(
        config,
        log_format,
        level if log_level is None else log_level.number,
        command,
        audit_log=audit_log,
    )


def show(
    json: bool,
    color: bool,
    document: Callable[[], Document],
    text: Callable[[Screen], str],
    *,
    has_records: bool = False,
) -> None:
    """Print a command's result to standard output as text, or as one document if `json` is set.

    Times in the text get the local time beside them, except in a text that `has_records`, which are shown as they are.
    """
    if json:
        say_json(document())
    else:
        shown_text = text(standard_output(color))
        say(shown_text if has_records else with_local_times(shown_text))


@contextmanager
def output_file(output: str) -> Iterator[Path]:
    """Yield the path of a draft that replaces the file `output` in one step after the block.

    So a reader sees either the earlier file or the whole new one. Of a link, the target is replaced. If `output` is a device
    or a pipe (`/dev/null`), its own path is yielded: it is written, never replaced. Raises ConfigError (`usage.output`) if
    the file cannot be written; then no draft is left.
    """
    draft: Path | None = None
    try:
        if Path(output).is_file() or not Path(output).exists():
            target = os.path.realpath(output)
            draft = Path(f"{target}.{os.getpid()}.in-progress")
            yield draft
            draft.replace(target)
            draft = None
        else:
            yield Path(output)
    except OSError as error:
        raise ConfigError(
            "usage.output",
            f"{output} cannot be written: {error.strerror or error}",
            "name a file in a writable directory with free space",
        ) from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def say(text: str) -> None:
    """Print to standard output; control sequences that came from records or brokers are escaped."""
    with _standard_output():
        print(printable_coloured(shown(text)))  # noqa: T201 (this is the command line)


def say_json(document: Document) -> None:
    """Print a document to standard output."""
    with _standard_output():
        print(shown_json(document))  # noqa: T201 (this is the command line)


def shown_json(document: Document) -> str:
    """Return a document as the text that this command shows."""
    return _blanks.get().fill_json(json_text(document))


def shown(text: str) -> str:
    """Return the text as this command shows it: the commands in it name the map and Kafka's brokers."""
    return _blanks.get().fill(text)


def say_bytes(content: bytes) -> None:
    """Write bytes to standard output."""
    with _standard_output():
        sys.stdout.buffer.write(content)


@contextmanager
def _standard_output() -> Iterator[None]:
    """Flush standard output after the block. If it cannot be written (a full disk), end the program with a message.

    A pipe whose reader has gone ends the program, too; Typer does that without a message.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        tell_error(
            ConfigError(
                "usage.output",
                f"standard output cannot be written: {error.strerror or error}",
                "free space where it goes, then type the command again",
            )
        )
        # what is left in the buffer cannot be written at the exit, either
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
        sys.exit(int(ExitCode.CONFIG))


def tell_error(error: BaseException) -> None:
    """Print an error to standard error; control sequences in it are escaped."""
    tell_line(str(error))


def tell_line(text: str) -> None:
    """Print a line of progress to standard error; control sequences in it are escaped."""
    print(printable(with_local_times(shown(text))), file=sys.stderr, flush=True)  # noqa: T201 (this is the command line)

"""The entry point of the command line.

A command imports its use case only when it is called, so commands without Spark start in well under a second.
"""

import gc
import inspect
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer

from kafka2hive import __version__
from kafka2hive.cli.commands import (
    bundle,
    compact,
    counts,
    dead_letters,
    demo,
    doctor,
    explain,
    lookup,
    offsets,
    pause,
    preview,
    recover,
    reload,
    report,
    reset,
    retain,
    run,
    sample,
    size,
    status,
    submit,
    top,
    validate,
    verify,
)
from kafka2hive.model.errors import ExitCode

_WEB_PROXY = "APPLICATION_WEB_PROXY_BASE"
"""A variable that YARN sets for application masters."""
_OBJECTS_PER_COLLECTION = 10_000
"""New objects that start a garbage collection. With Python's default of 700 it would visit all imported modules, and the
objects of a large epoch, again and again."""


def _documents() -> str | None:
    """Return the line that says where an installed package keeps its documents; None in a checkout."""
    directory = Path(sys.prefix) / "share" / "kafka2hive"
    return f"Documents, examples and the map's JSON schema: {directory}" if directory.is_dir() else None


def _paragraphs(command: Callable[..., object] | None) -> str:
    """Return a command's help, each paragraph as one line, which the terminal wraps.

    Typer would keep a docstring's line breaks, except in its first paragraph.
    """
    text = inspect.getdoc(command) or ""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


app = typer.Typer(
    name="kafka2hive",
    help="Dump Kafka topics into Hive tables on HDFS, exactly once, with all state on HDFS.",
    epilog=_documents(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_START, _LOOK, _REPAIR, _SET_UP = "Start", "Look", "Repair", "Set up"


def _add(panel: str, command: Callable[..., object], exit_codes: str, *, hidden: bool = False) -> None:
    app.command(epilog=exit_codes, rich_help_panel=panel, hidden=hidden)(command)


_add(_START, run.run, run.EXIT_CODES)
_add(_START, submit.submit, submit.SUBMIT_EXIT_CODES)
_add(_START, reload.reload, reload.EXIT_CODES)
_add(_START, pause.pause, pause.EXIT_CODES)
_add(_START, pause.resume, pause.EXIT_CODES)
_add(_LOOK, status.status, status.EXIT_CODES)
_add(_LOOK, top.top, top.EXIT_CODES)
_add(_LOOK, report.report, report.EXIT_CODES)
_add(_LOOK, explain.explain, explain.EXIT_CODES)
_add(_LOOK, verify.verify, verify.EXIT_CODES)
_add(_LOOK, doctor.doctor, doctor.EXIT_CODES)
_add(_LOOK, lookup.certificate, lookup.CERTIFICATE_EXIT_CODES)
_add(_LOOK, lookup.where, lookup.WHERE_EXIT_CODES)
_add(_LOOK, counts.counts, counts.EXIT_CODES)
app.add_typer(dead_letters.app, name="dead-letters", rich_help_panel=_LOOK)
app.add_typer(offsets.app, name="offsets", rich_help_panel=_LOOK)
_add(_LOOK, bundle.bundle, bundle.EXIT_CODES)
_add(_REPAIR, recover.recover, recover.EXIT_CODES)
_add(_REPAIR, compact.compact, compact.EXIT_CODES)
_add(_REPAIR, retain.retain, retain.EXIT_CODES)
_add(_REPAIR, reset.reset, reset.EXIT_CODES)
_add(_SET_UP, sample.sample, sample.EXIT_CODES)
_add(_SET_UP, validate.validate, validate.EXIT_CODES)
_add(_SET_UP, size.size, size.EXIT_CODES)
_add(_SET_UP, preview.plan, preview.EXIT_CODES)
_add(_SET_UP, preview.preview, preview.EXIT_CODES)
_add(_SET_UP, offsets.init, offsets.INIT_EXIT_CODES)
_add(_SET_UP, run.warm, run.WARM_EXIT_CODES)
_add(_SET_UP, submit.pack, submit.PACK_EXIT_CODES)
_add(_SET_UP, demo.demo, demo.EXIT_CODES)
_add(_SET_UP, submit.executor, submit.EXECUTOR_EXIT_CODES, hidden=True)  # Spark calls it
for _commands in (app, dead_letters.app, offsets.app):
    for _command in _commands.registered_commands:
        _command.help = _paragraphs(_command.callback)


def _version(is_asked_for: bool) -> None:
    if is_asked_for:
        typer.echo(f"kafka2hive {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _exit_with_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the trace of an exception that nothing caught, and exit with the code of a bug instead of Python's 1."""
    sys.__excepthook__(kind, error, trace)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ExitCode.BUG)


def _end_application(code: int) -> None:
    """Keep YARN from a further attempt if this process is the driver of an application and no attempt would help."""
    from kafka2hive.spark.attempts import PERMANENT, fail_permanently
    from kafka2hive.spark.internals import is_started_by_launcher

    if code in PERMANENT and is_started_by_launcher():
        fail_permanently(code)


def _exit_without_teardown(code: object) -> None:
    """End the process at once with the exit code `code`, or return if the interpreter must tear itself down.

    The teardown would free every imported module, and wait up to 500 ms for calls by which hdfs-native closes files that
    are known to be closed (see Closings). A command that started Spark's JVM needs the teardown, which stops the JVM.
    """
    if "pyspark" in sys.modules or not (code is None or isinstance(code, int)):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # the interpreter reports it
    os._exit(code or 0)


def _prepare_streams() -> None:
    """Let the standard streams take any text: they may be closed, or have an encoding that lacks a character.

    A closed stream becomes `/dev/null`, also for libraries that would take its file descriptor for one of their own.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Run the command of `sys.argv` and exit with its code."""
    sys.excepthook = _exit_with_bug  # app() would replace it by Typer's, which exits with 1
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    _prepare_streams()
    try:
        typer.main.get_command(app)()
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except SystemExit as end:
        if _WEB_PROXY in os.environ and isinstance(end.code, int):
            _end_application(end.code)
        _exit_without_teardown(end.code)
        raise
    finally:
        gc.freeze()  # so that the collections at the interpreter's end do not visit what was imported


if __name__ == "__main__":
    main()

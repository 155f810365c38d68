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
    dead_letters,
    demo,
    doctor,
    lookup,
    offsets,
    pause,
    preview,
    recover,
    report,
    reset,
    retain,
    run,
    sample,
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
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(offsets.app, name="offsets")
app.command(epilog=run.EXIT_CODES)(run.run)
app.command(epilog=recover.EXIT_CODES)(recover.recover)
app.command(epilog=reset.EXIT_CODES)(reset.reset)
app.command(epilog=compact.EXIT_CODES)(compact.compact)
app.command(epilog=retain.EXIT_CODES)(retain.retain)
app.command(epilog=status.EXIT_CODES)(status.status)
app.command(epilog=top.EXIT_CODES)(top.top)
app.command(epilog=report.EXIT_CODES)(report.report)
app.command(epilog=pause.EXIT_CODES)(pause.pause)
app.command(epilog=pause.EXIT_CODES)(pause.resume)
app.command(epilog=offsets.INIT_EXIT_CODES)(offsets.init)
app.command(epilog=verify.EXIT_CODES)(verify.verify)
app.command(epilog=lookup.WHERE_EXIT_CODES)(lookup.where)
app.command(epilog=lookup.CERTIFICATE_EXIT_CODES)(lookup.certificate)
app.command(epilog=validate.EXIT_CODES)(validate.validate)
app.command(epilog=doctor.EXIT_CODES)(doctor.doctor)
app.command(epilog=bundle.EXIT_CODES)(bundle.bundle)
app.command(epilog=preview.EXIT_CODES)(preview.plan)
app.command(epilog=preview.EXIT_CODES)(preview.preview)
app.command(epilog=sample.EXIT_CODES)(sample.sample)
app.command(epilog=submit.PACK_EXIT_CODES)(submit.pack)
app.command(epilog=submit.SUBMIT_EXIT_CODES)(submit.submit)
app.command(epilog=submit.EXECUTOR_EXIT_CODES)(submit.executor)
app.command(epilog=run.WARM_EXIT_CODES)(run.warm)
app.command(epilog=demo.EXIT_CODES)(demo.demo)
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
    from kafka2hive.spark.application import PERMANENT, fail_permanently
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

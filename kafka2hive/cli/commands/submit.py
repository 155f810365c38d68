"""`kafka2hive pack`, `submit` and `executor`: the service on a cluster."""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Level, Log, Map, Once, Takeover
from kafka2hive.observe.log import LogFormat

if TYPE_CHECKING:
    from kafka2hive.config.keys import ServiceMap

PACK_EXIT_CODES = options.paragraph(
    "0 done", "2 wrong command line", "78 this environment cannot be packed, or OUT cannot be written"
)
SUBMIT_EXIT_CODES = options.paragraph(
    "0 submitted, or with --wait done",
    "2 wrong command line",
    "69 YARN does not answer, or with --wait the application was killed",
    "78 the map is wrong, or the pack does not fit",
    "130/143 ended by SIGINT/SIGTERM, a submitted application continues",
    "with --wait the exit code of run",
)
EXECUTOR_EXIT_CODES = options.paragraph(
    "69 the image has no Java",
    "78 Spark did not set the environment of an executor",
    "otherwise the exit code of the executor",
)


def pack(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The archive, OUT.tar.gz; or a directory, where the archive is named after its digest.",
        ),
    ],
) -> None:
    """Pack this Python, kafka2hive and its packages into an archive for the nodes of a cluster."""
    from kafka2hive.cli.terminal.outcome import say, tell_error
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.model.text import size
    from kafka2hive.submit.pack import make_pack

    try:
        archive = make_pack(out)
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
    length, content = size(archive.file.stat().st_size), size(archive.content_bytes)
    say(
        f"{archive.file}  {length}, unpacked {content} in {archive.files:,} files\n"
        f"for {archive.pack.cpu} with glibc {archive.pack.glibc} or later, with Python {archive.pack.python}"
        f" and without Spark {archive.pack.spark}\n"
        f"digest {archive.pack.digest}"
    )


def submit(
    config: Map,
    pack: Annotated[
        str,
        typer.Option(
            "--pack",
            metavar="PACK",
            help="The archive that `kafka2hive pack` wrote: a local path, or hdfs://..",
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option(
            "--user", help="The user who submits the application and owns its files (HADOOP_USER_NAME)."
        ),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="The queue of YARN.")] = None,
    attempts: Annotated[
        int | None,
        typer.Option(
            "--attempts",
            min=1,
            help="How many attempts may fail within an hour; attempt N is the last if it ends by itself (default: 2).",
        ),
    ] = None,
    once: Once = False,
    takeover: Takeover = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait until the application ends, and exit with the run's exit code."),
    ] = False,
    only_print: Annotated[
        bool, typer.Option("--print", help="Only print the command of Spark; submit nothing.")
    ] = False,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Start the service on YARN, in cluster mode, with all files that the map names."""
    from kafka2hive.cli.terminal.outcome import with_map
    from kafka2hive.model.errors import ExitCode
    from kafka2hive.submit.submission import SubmitRequest

    def command(service_map: "ServiceMap") -> int:
        from kafka2hive.cli.terminal.outcome import say, tell_line
        from kafka2hive.cli.terminal.progress import shown_progress
        from kafka2hive.submit.application import prepare, run_code, submit

        request = SubmitRequest(
            pack=pack,
            program=str(Path(__file__).parents[1] / "main.py"),
            user=user,
            queue=queue,
            attempts=attempts,
            arguments=(*["--once"] * once, *["--takeover"] * takeover),
            wait=wait,
        )
        # so that the files to send, which may hold secrets, are deleted, and spark-submit ends
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(ExitCode.TERMINATED))
        with prepare(service_map, request, os.environ) as submission:
            if only_print:
                say(submission.text())
                return int(ExitCode.DONE)
            with shown_progress() as progress:
                report = submit(submission, lambda report: tell_line(report.line()), progress)
        say(f"{report.application} {report.url}".rstrip())
        return run_code(report) if wait else int(ExitCode.DONE)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


def executor() -> None:
    """Become a Spark executor in a Kubernetes pod. Spark calls this command; people do not."""
    from kafka2hive.cli.terminal.outcome import tell_error
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.spark.executor import executor_command

    try:
        command = executor_command(os.environ)
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
    os.execv(command[0], command)

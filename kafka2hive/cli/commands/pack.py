"""`kafka2hive pack`: an archive with Python, kafka2hive and its packages, for clusters."""

from pathlib import Path
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options

EXIT_CODES = options.paragraph(
    "0 done", "2 wrong command line", "78 this environment cannot be packed, or OUT not written"
)


def pack(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="The archive, OUT.tar.gz; or a directory, in which its name has its digest."
        ),
    ],
) -> None:
    """Pack this Python, kafka2hive and its packages into an archive for the nodes of a cluster."""
    from kafka2hive.cli.terminal.outcome import say, tell_error
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.spark.pack import make_pack

    try:
        made = make_pack(out)
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
    size, content = made.file.stat().st_size, made.content_bytes
    say(
        f"{made.file}  {size / 1e6:,.0f} MB, unpacked {content / 1e6:,.0f} MB in {made.files:,} files\n"
        f"for {made.pack.cpu} with glibc {made.pack.glibc} or later, with Python {made.pack.python}"
        f" and without Spark {made.pack.spark}\n"
        f"digest {made.pack.digest}"
    )

"""An application on YARN: how it is submitted, and what spark-submit reports about it."""

import os
import re
import subprocess
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from kafka2hive import __version__
from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import read_references
from kafka2hive.config.machine import check_keytabs
from kafka2hive.config.mask_keys import read_mask_keys
from kafka2hive.model.errors import ConfigError, ExitCode, ServiceUnavailable
from kafka2hive.model.paths.ledger import PACKS_DIRECTORY
from kafka2hive.model.paths.path import join
from kafka2hive.model.progress import Advance, Progress
from kafka2hive.spark.environment import require_spark
from kafka2hive.spark.jvm import required_spark_home
from kafka2hive.storage.connect import connect
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError
from kafka2hive.submit.pack import Pack, read_pack
from kafka2hive.submit.submission import (
    FILES_DIRECTORY,
    Submission,
    SubmitRequest,
    require_yarn,
    secret_properties,
    shell_text,
    submit_command,
    submit_environment,
    write_files,
)

_APPLICATION = re.compile(r"\bapplication_\d+_\d+\b")
_STATE = re.compile(r"Application report for (application_\d+_\d+) \(state: (\w+)\)")
_URL = re.compile(r"^\s*tracking URL: (\S+)")
_FINAL = re.compile(r"^\s*final status: (\w+)")
_ENDED_WITH = re.compile(r"(?:exited with status|ended with exit code) (\d+)")
_CONNECTION = re.compile(r"\b(?:Connecting to ResourceManager at|Failing over to) /?(\S+)")
_INFO = re.compile(r"(?:\S+ \S+ INFO |Using Spark's default log4j|WARNING: Using incubator).*")
_LINES_KEPT = 40
_STACK = re.compile(r"\s+at \S+\(.*\)|\s+\.\.\. \d+ more")
_NO_LOGIN = ("Client cannot authenticate via", "SIMPLE authentication is not enabled")
_BLOCK_BYTES = 4 << 20


@dataclass(slots=True)
class ApplicationReport:
    """What spark-submit has printed so far; `exit_code` is the exit code of `run`, None if YARN does not know it.

    `final` is YARN's final status, empty before the end; `lines` are the last lines, without Java's stacks and progress.
    """

    resource_manager: str = ""
    application: str = ""
    url: str = ""
    state: str = ""
    final: str = ""
    exit_code: int | None = None
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES_KEPT))

    def line(self) -> str:
        """Return application, state and URL in one line for the terminal; before that, where spark-submit looks for YARN."""
        if not self.application:
            return f"connecting to the ResourceManager at {self.resource_manager}"
        return f"{self.application} {self.state.lower()} {self.url}".rstrip()

    def read(self, line: str) -> bool:
        """Read a line that spark-submit printed; return whether it changes the state or an address."""
        before = (self.state, self.url, self.resource_manager)
        if not _STACK.fullmatch(line) and not _INFO.fullmatch(line):
            self.lines.append(line)
        if not self.application and (match := _CONNECTION.search(line)):
            self.resource_manager = match[1]
        if match := _STATE.search(line):
            self.application, self.state = match[1], match[2]
        elif not self.application and "ubmitted application" in line and (match := _APPLICATION.search(line)):
            self.application, self.state = match[0], "SUBMITTED"
        elif (match := _URL.match(line)) and match[1] != "N/A":
            self.url = match[1]
        elif match := _FINAL.match(line):
            self.final = match[1]
        if match := _ENDED_WITH.search(line):
            self.exit_code = int(match[1])
        return (self.state, self.url, self.resource_manager) != before


@dataclass(frozen=True, slots=True)
class PreparedApplication:
    """All that is needed to submit; `pack_file` is uploaded to `submission.pack` first."""

    submission: Submission
    command: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    pack_file: Path | None

    def text(self) -> str:
        """Return the command as it can be typed into a shell."""
        return shell_text(self.command, self.submission.request.user)


@contextmanager
def prepare(
    service_map: ServiceMap, request: SubmitRequest, environ: Mapping[str, str]
) -> Iterator[PreparedApplication]:
    """Check everything on this machine and write the files to send; they are deleted at the end of the block.

    Raises ConfigError (`submit.master`, `submit.hadoop_conf`, `submit.file`, `submit.pack`, `pack.unreadable`,
    `kerberos.keytab`, and as `read_mask_keys`) and ServiceUnavailable (`spark.start`).
    """
    require_yarn(service_map)
    check_keytabs(service_map)
    read_mask_keys(service_map)
    home = required_spark_home()
    environment = submit_environment(environ, home, request.user)
    pack, pack_file = pack_uri(service_map, request.pack)
    with TemporaryDirectory(prefix="kafka2hive-submit-") as directory:
        files = Path(directory, f"{FILES_DIRECTORY}.zip")
        submission = Submission(service_map, request, pack, str(files))
        write_files(files, Path(service_map.path), read_references(service_map.path, environ))
        properties = None
        if secrets := secret_properties(submission):
            properties = Path(directory, "secrets.conf")
            properties.touch(0o600)
            properties.write_text(secrets, encoding="latin-1", errors="backslashreplace")
        yield PreparedApplication(
            submission, submit_command(submission, home, properties), environment, pack_file
        )


def submit(
    application: PreparedApplication,
    on_change: Callable[["ApplicationReport"], None],
    progress: Progress,
) -> "ApplicationReport":
    """Upload the pack and submit the application; call `on_change` for each change of its state.

    Raises what `require_spark` raises, and ServiceUnavailable (`submit.upload`, `submit.failed`).
    """
    require_spark()
    if application.pack_file is not None:
        if user := application.submission.request.user:
            os.environ["HADOOP_USER_NAME"] = user  # hdfs-native reads it there
        length = application.pack_file.stat().st_size
        with progress.work(f"copy the pack to {application.submission.pack}", bytes=length) as advance:
            upload(
                connect(application.submission.map.storage),
                application.pack_file,
                application.submission.pack,
                advance,
            )
    with progress.work("wait for YARN"):
        return follow(application.command, application.environ, on_change)


def pack_uri(service_map: ServiceMap, pack: str) -> tuple[str, Path | None]:
    """Return where nodes fetch a pack, and the local file that must be uploaded there first.

    The place is below the map's ledger root, under a name with the pack's digest, so that nodes keep it from one application
    to the next. If the storage is not HDFS, Spark itself uploads it. Raises ConfigError (`pack.unreadable`, `submit.pack`).
    """
    if pack.startswith("hdfs://"):
        return pack, None
    file = Path(pack)
    description = read_pack(file)
    _require_same_versions(description, file)
    root = service_map.storage.ledger_root
    if not root.startswith("hdfs://"):
        return str(file.absolute()), None
    return join(root, PACKS_DIRECTORY, description.name), file


def _require_same_versions(pack: Pack, file: Path) -> None:
    from importlib.metadata import version

    for name, packed, here in (
        ("kafka2hive", pack.kafka2hive, __version__),
        ("pyspark", pack.spark, version("pyspark")),
    ):
        if packed != here:
            raise ConfigError(
                "submit.pack",
                f"{file} was made with {name} {packed}, and this is {name} {here}",
                "make another one: `kafka2hive pack OUT.tar.gz`",
            )


def upload(files: FileSystem, source: Path, target: str, advance: Advance = lambda **_: None) -> bool:
    """Copy a local file to `target` on the storage unless `target` exists; return whether the file was copied.

    A crash leaves a file `.in-progress`, which is never read. Raises ServiceUnavailable (`submit.upload`).
    """
    part = f"{target}.{uuid.uuid4().hex}.in-progress"
    try:
        with suppress(NotFound):
            files.stat(target)
            return False  # the target got its name by a rename, so it is whole
        files.mkdirs(target.rpartition("/")[0])
        writer = files.create(part)
        with source.open("rb") as content:
            while block := content.read(_BLOCK_BYTES):
                writer.write(block)
                advance(bytes=len(block))
        writer.close()
        try:
            files.rename(part, target)
        except AlreadyExists:
            files.delete(part)  # another process has uploaded it in the meantime
    except (StorageError, OSError) as error:
        raise ServiceUnavailable(
            "submit.upload",
            f"the pack cannot be copied to {target}: {error}",
            "correct the permissions, or free space; or upload it yourself, and submit with --pack hdfs://..",
        ) from error
    return True


def follow(
    command: Sequence[str], environ: Mapping[str, str], on_change: Callable[[ApplicationReport], None]
) -> ApplicationReport:
    """Run spark-submit to its end, and call `on_change` for each change.

    An exception, also that of a signal, ends spark-submit: it would still submit the application when YARN answers again.
    Raises ServiceUnavailable (`submit.failed`) if no application was submitted.
    """
    report = ApplicationReport()
    try:
        process = subprocess.Popen(
            list(command), env=dict(environ), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise _not_submitted(str(error)) from error
    with process:
        assert process.stdout is not None, "it is a pipe"
        try:
            for line in process.stdout:
                if report.read(line.rstrip()):
                    on_change(report)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if not report.application:
        text = "\n".join(["it printed", *report.lines])
        raise _not_submitted(text, is_login=any(reason in text for reason in _NO_LOGIN))
    if process.returncode and not report.final:
        report.final = "UNKNOWN"
    return report


def run_code(report: ApplicationReport) -> int:
    """Return the exit code of the run in an application that has ended."""
    if report.final == "SUCCEEDED":
        return int(ExitCode.DONE)
    return int(ExitCode.UNAVAILABLE) if report.exit_code is None else report.exit_code


def _not_submitted(reason: str, *, is_login: bool = False) -> ServiceUnavailable:
    return ServiceUnavailable(
        "submit.failed",
        f"spark-submit has submitted no application: {reason}",
        "the cluster requires Kerberos: write kerberos with principal and keytab into the map, or log in before (kinit)"
        if is_login
        else "check that the ResourceManager of HADOOP_CONF_DIR answers, and that user and queue may submit",
    )

"""Make the class archive: a session runs up to its first epoch, and its JVM writes the loaded classes to the archive."""

import fcntl
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.plan.contract import PlannedEpoch, TableManifest, TaskPlan
from kafka2hive.spark.class_archive import (
    JAVA_OPTIONS,
    archive_stem,
    find_archive,
    finished_name,
    make_option,
    of_same_installation,
)
from kafka2hive.spark.java import require_java
from kafka2hive.spark.jobs import task_function
from kafka2hive.spark.jvm import launched
from kafka2hive.spark.query import DumpQuery
from kafka2hive.spark.session import Scratch, end_jvm, start_session, stop_session

_JVM_SECONDS = 300.0


def make_archive() -> tuple[Path, bool]:
    """Return the archive for this Java and this Spark, and whether this call made it; an existing one is kept.

    The JVM writes to a `.part` file; a sync and a rename make the archive appear whole. A crash before the rename leaves
    the `.part` file, which the next call removes. Archives of former versions of the same installation are deleted, which
    does not affect a JVM that uses one. Raises ServiceUnavailable (`spark.java`, `spark.start`, `spark.archive`); starts
    then work without an archive.
    """
    require_java()
    stem = archive_stem(os.environ)
    if stem is None:
        raise _failed("Java has no file `release` that tells its version, or there is no home directory")
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(stem.parent / "lock"):
            if (present := find_archive(stem)) is not None:
                return present, False
            for incomplete in stem.parent.glob("*.part"):
                incomplete.unlink()
            part = stem.with_name(f"{stem.name}.part")
            _run_session_that_writes(part, stem.parent / "run")
            if not part.is_file():
                raise _failed("Java wrote no archive")
            _sync(part)
            file = part.rename(finished_name(stem, part.stat().st_size))
            for former in of_same_installation(file):
                former.unlink()
    except OSError as error:
        raise _failed(str(error)) from error
    return file, True


def _sync(file: Path) -> None:
    """Sync the file: Java verifies no checksum, so the bytes must be on disk before the final name exists."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failed(reason: str) -> ServiceUnavailable:
    return ServiceUnavailable(
        "spark.archive",
        f"there is no class archive: {reason}",
        "`run` works without it, but its start costs more CPU time; XDG_CACHE_HOME chooses another directory",
    )


@contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Wait for other processes that make an archive; the lock is released at the end of a process."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run_session_that_writes(part: Path, run_directory: Path) -> None:
    options = SparkOptions(master="local[1]", conf=((JAVA_OPTIONS, make_option(part)),))
    with Scratch(run_directory) as scratch, launched(options, "warm") as jvm:
        spark = start_session(options, "warm", scratch, jvm.connect())
        try:
            epoch = _OneEpoch()
            query = DumpQuery(
                spark=spark,
                planner=epoch,
                listener=epoch,
                function=task_function(_no_manifests, None),
                scratch=scratch,
                trigger_seconds=1.0,
                once=True,
            )
            query.start()
            ended = query.run_until(threading.Event(), lambda: None)
        finally:
            stop_session(spark)
        try:
            end_jvm(_JVM_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise _failed(f"Java did not end within {_JVM_SECONDS:g} s") from error
    if ended.error is not None:
        raise ended.error


class _OneEpoch:
    """A planner of one epoch with one task and no tables, and its listener, which never commits."""

    def __init__(self) -> None:
        self._epochs = [PlannedEpoch(1, (TaskPlan(0, ()),))]

    def plan(self) -> PlannedEpoch | None:
        return self._epochs.pop() if self._epochs else None

    def on_epoch(self, number: int, manifests: Sequence[TableManifest]) -> None:
        pass

    def on_failed(self, number: int, reason: str) -> None:
        raise _failed(f"Spark's job failed: {reason}")


def _no_manifests(_plan: TaskPlan, _settings: None) -> Iterator[TableManifest]:
    return iter(())

"""The checks of this machine: versions, open files, memory, space for temporary files, and the archive of Java classes."""

import os
import platform
import re
import resource
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kafka2hive import __version__
from kafka2hive.config.keys import ServiceMap
from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.model.text import size
from kafka2hive.service.validate.check import Check, Passed, Result, Warned
from kafka2hive.spark.class_archive import installed_archive

FEWEST_OPEN_FILES = 1024
"""A run needs connections to brokers and DataNodes, `limits.open_files` per task, and the files of Spark's jars.

A run raises the soft limit itself, so the hard one counts.
"""
LEAST_ROOM = 1 << 30
"""Bytes for temporary files: Spark's shuffles, its copies of archives, plug-ins."""
_PACKAGES = ("pyspark", "confluent-kafka", "pyarrow", "hdfs-native")
_DRIVER_BYTES = 1 << 30
_WORKER_BYTES = 200 << 20
"""The memory of a Python worker in addition to the buffers of its task."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The state of this machine. `memory` and `room` are free bytes, or None if the system does not report them.

    `archive` is the archive of Java classes that fits this installation (`kafka2hive warm`), or None.
    """

    versions: Mapping[str, str]
    open_files: int
    memory: int | None
    temporary: str
    room: int | None
    archive: Path | None


def this_machine(service_map: ServiceMap, environment: Mapping[str, str]) -> Machine:
    """Return the state of this machine, without any connection to a service."""
    temporary = _temporary(service_map, environment)
    try:
        room: int | None = shutil.disk_usage(temporary).free
    except OSError:
        room = None
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Machine(
        versions=_versions(),
        open_files=hard,
        memory=_available_memory(),
        temporary=temporary,
        room=room,
        archive=installed_archive(environment),
    )


def check_machine(machine: Machine, service_map: ServiceMap) -> list[Check]:
    """Compare the machine with what a run of this map needs."""
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    return [
        Check("machine", "versions", Passed(versions)),
        Check("machine", "open files", _open_files(machine.open_files)),
        Check("machine", "memory", _memory(machine.memory, service_map)),
        Check("machine", machine.temporary, _room(machine)),
        Check("machine", "class archive", _archive(machine.archive)),
    ]


def _open_files(limit: int) -> Result:
    if limit == resource.RLIM_INFINITY or limit >= FEWEST_OPEN_FILES:
        return Passed("no limit" if limit == resource.RLIM_INFINITY else f"a process may open {limit:,}")
    return _warned(
        "doctor.open_files",
        f"a process may open {limit:,} files; a run needs up to {FEWEST_OPEN_FILES:,}",
        "raise the limit (LimitNOFILE= of the systemd unit, or ulimit -n)",
    )


def _memory(available: int | None, service_map: ServiceMap) -> Result:
    workers = _local_workers(service_map.spark.master)
    if available is None:
        return Passed("not checked: the system does not say how much is free")
    if workers is None:
        return Passed(f"{size(available)} free; the workers run on {service_map.spark.master}")
    needed = _DRIVER_BYTES + workers * (_WORKER_BYTES + service_map.limits.task_memory_bytes)
    text = f"{size(available)} free, a run with {workers} workers takes up to {size(needed)}"
    if available >= needed:
        return Passed(text)
    return _warned(
        "doctor.memory",
        text,
        "lower limits.task_memory, give spark.master fewer cores (local[N]), or free memory;"
        " if a run is alive, it already holds a part of this",
    )


def _room(machine: Machine) -> Result:
    if machine.room is None:
        return _warned(
            "doctor.temporary",
            f"{machine.temporary}, where Spark keeps temporary files, cannot be read",
            "create it, or name another directory (spark.local.dir in the map's spark.conf)",
        )
    text = f"{size(machine.room)} free for Spark's temporary files"
    if machine.room >= LEAST_ROOM:
        return Passed(text)
    return _warned(
        "doctor.temporary", text, f"free space: a run may need {size(LEAST_ROOM)}, or name another directory"
    )


def _archive(archive: Path | None) -> Result:
    if archive is not None:
        return Passed(str(archive))
    return Passed(
        "no archive fits this installation, so each start of Spark takes some seconds longer; `kafka2hive warm` makes one"
    )


def _warned(code: str, message: str, remedy: str) -> Warned:
    error: Kafka2HiveError = TableError(code, message, remedy)
    return Warned(error)


def _local_workers(master: str) -> int | None:
    """Return the number of workers of a local master; None if the master is a cluster."""
    if not master.startswith("local"):
        return None
    cores = master.removeprefix("local").strip("[]").split(",")[0]
    if cores == "*":
        return os.cpu_count() or 1
    return int(cores) if cores.isdigit() else 1


def _versions() -> dict[str, str]:
    found = {"kafka2hive": __version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    import confluent_kafka

    found["librdkafka"] = confluent_kafka.libversion()[0]
    return found


def _temporary(service_map: ServiceMap, environment: Mapping[str, str]) -> str:
    conf = dict(service_map.spark.conf)
    named = environment.get("SPARK_LOCAL_DIRS") or conf.get("spark.local.dir") or environment.get("TMPDIR")
    return (named or "/tmp").split(",")[0]


def _available_memory() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^MemAvailable: +(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None

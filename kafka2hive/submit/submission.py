"""The command line that submits a service to YARN's cluster mode, and the archive of the map and its files.

Everything that the map names travels in one archive, which YARN unpacks on each node into `kafka2hive-files`. It holds
secrets: only its owner can read it here, and Spark's staging directory belongs to the submitting user alone.
"""

import json
import os
import shlex
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.keys.units import MIB
from kafka2hive.config.yaml.document import SUBMITTED, SUBMITTED_FILES, SUBMITTED_VARIABLES, References
from kafka2hive.model.errors import ConfigError
from kafka2hive.spark.configuration import EXECUTOR_FAILURES, LOGIN_KEYS, QUICK_JVM
from kafka2hive.submit.pack import START

FILES_DIRECTORY = "kafka2hive-files"
ENVIRONMENT = "environment"
"""The names of the two archives in the working directory of each container."""
ARCHIVES = "spark.yarn.dist.archives"
_TICKETS = "FILE:kafka2hive-tickets"
_WORKER_MIB = 256
_PYTHON = f"./{ENVIRONMENT}/{START}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRequest:
    """The options of one `submit`. `program` is the file that the application master starts, `arguments` are those of `run`."""

    pack: str
    program: str
    user: str | None = None
    queue: str | None = None
    attempts: int | None = None
    arguments: tuple[str, ...] = ()
    wait: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    """A map and a request, and where Spark finds `pack` and `files`: paths or URIs."""

    map: ServiceMap
    request: SubmitRequest
    pack: str
    files: str


def submit_conf(submission: Submission) -> dict[str, str]:
    """Return Spark's settings: the map's override the defaults, but not the settings that bring the pack and the files."""
    map_conf = dict(submission.map.spark.conf)
    cores = map_conf.get("spark.executor.cores", "1")
    worker = submission.map.limits.task_memory_bytes // MIB + _WORKER_MIB
    overhead = _WORKER_MIB + (int(cores) if cores.isdecimal() else 1) * worker
    defaults = {
        "spark.app.name": f"kafka2hive {submission.map.service}",
        "spark.driver.memory": "512m",
        "spark.driver.memoryOverhead": "640m",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.executor.memory": "512m",
        "spark.executor.memoryOverhead": f"{overhead}m",
        "spark.yarn.maxAppAttempts": "2",
        "spark.yarn.am.attemptFailuresValidityInterval": "1h",
        **EXECUTOR_FAILURES,
    }
    archives = [f"{submission.pack}#{ENVIRONMENT}", f"{submission.files}#{FILES_DIRECTORY}"]
    fixed = {
        ARCHIVES: ",".join([*archives, *filter(None, [map_conf.get(ARCHIVES)])]),
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": _PYTHON,
        "spark.yarn.appMasterEnv.PYSPARK_DRIVER_PYTHON": _PYTHON,
        "spark.executorEnv.PYSPARK_PYTHON": _PYTHON,
        f"spark.yarn.appMasterEnv.{SUBMITTED}": FILES_DIRECTORY,
        "spark.yarn.submit.waitAppCompletion": str(submission.request.wait).lower(),
    }
    if submission.request.attempts is not None:
        fixed["spark.yarn.maxAppAttempts"] = str(submission.request.attempts)
    return defaults | spark_login(submission.map) | ticket_caches(submission.map) | map_conf | fixed


def spark_login(service_map: ServiceMap) -> dict[str, str]:
    """Return Spark's settings for the map's keytab, empty without one, or if `spark.conf` names a login.

    With them spark-submit needs no ticket, and the application renews its delegation tokens for as long as it runs.
    """
    login = service_map.storage.kerberos or service_map.kerberos
    if login is None or login.keytab is None or LOGIN_KEYS & dict(service_map.spark.conf).keys():
        return {}
    return {"spark.kerberos.principal": login.principal, "spark.kerberos.keytab": login.keytab}


def ticket_caches(service_map: ServiceMap) -> dict[str, str]:
    """Return the settings that put Kafka's tickets into the container's directory, empty if Kafka needs no keytab.

    librdkafka calls `kinit`. Without them all services of one account of the node would share a ticket cache, and log in
    with each other's principal.
    """
    if not any(
        "sasl.kerberos.keytab" in dict(options.properties) for options in service_map.clusters.values()
    ):
        return {}
    return dict.fromkeys(("spark.yarn.appMasterEnv.KRB5CCNAME", "spark.executorEnv.KRB5CCNAME"), _TICKETS)


def submit_command(submission: Submission, spark_home: Path, properties: Path | None) -> tuple[str, ...]:
    """Return the command line; `properties` is the file with the settings that no command line may show."""
    secret = submission.map.secret_keys
    command = [str(spark_home / "bin/spark-submit"), "--master", "yarn", "--deploy-mode", "cluster"]
    if submission.request.queue is not None:
        command += ["--queue", submission.request.queue]
    if properties is not None:
        command += ["--properties-file", str(properties), "--load-spark-defaults"]
    for key, value in submit_conf(submission).items():
        if key not in secret:
            command += ["--conf", f"{key}={value}"]
    place = f"{FILES_DIRECTORY}/{Path(submission.map.path).name}"
    return (*command, submission.request.program, "run", "-c", place, *submission.request.arguments)


def secret_properties(submission: Submission) -> str:
    """Return the settings that no command line may show as the text of a properties file, empty if there are none."""
    conf = submit_conf(submission)
    return "".join(
        f"{key} {_escape(conf[key])}\n" for key in sorted(submission.map.secret_keys & conf.keys())
    )


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def submit_environment(environ: Mapping[str, str], spark_home: Path, user: str | None) -> dict[str, str]:
    """Return the environment of spark-submit. Raises ConfigError (`submit.hadoop_conf`)."""
    folders = [(name, environ[name]) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if environ.get(name)]
    wrong = [
        f"{name}={folder} is not a directory here" for name, folder in folders if not Path(folder).is_dir()
    ]
    if wrong or not folders:
        reason = " and ".join(wrong) or "neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"
        raise ConfigError(
            "submit.hadoop_conf",
            f"{reason}, so the address of YARN is unknown",
            "type `export HADOOP_CONF_DIR=/etc/hadoop/conf`, then the same `kafka2hive submit` command again",
        )
    quick = {name: environ.get(name, QUICK_JVM) for name in ("SPARK_LAUNCHER_OPTS", "SPARK_SUBMIT_OPTS")}
    named = {} if user is None else {"HADOOP_USER_NAME": user}
    return {**environ, **quick, **named, "SPARK_HOME": str(spark_home)}


def shell_text(command: tuple[str, ...], user: str | None) -> str:
    """Return the command as it can be typed into a shell, with one option per line."""
    lines = [f"HADOOP_USER_NAME={shlex.quote(user)} {command[0]}" if user else command[0]]
    options = list(command[1:])
    while options:
        option = shlex.quote(options.pop(0))
        takes_value = option in ("--master", "--deploy-mode", "--queue", "--properties-file", "--conf")
        if not option.startswith("--"):
            lines.append(" ".join([option, *map(shlex.quote, options)]))
            break
        lines.append(f"{option} {shlex.quote(options.pop(0))}" if takes_value else option)
    return " \\\n  ".join(lines)


def require_yarn(service_map: ServiceMap) -> None:
    """Raise ConfigError (`submit.master`) unless the map's tasks run on YARN."""
    if service_map.spark.master != "yarn":
        raise ConfigError(
            "submit.master",
            f"submit starts the service on YARN, but the map says spark.master: {service_map.spark.master}",
            "write spark: {master: yarn} into the map, or start the service on this machine: `kafka2hive run -c MAP`",
        )


def write_files(archive: Path, map_path: Path, references: References) -> None:
    """Write the archive of the map, its files and variables, readable by this user only.

    Raises ConfigError (`submit.file`) for a file that cannot be read.
    """
    places: dict[str, str] = {}
    descriptor = os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr(map_path.name, map_path.read_bytes())
        for number, name in enumerate(sorted(references.files)):
            place = f"files/{number}-{Path(name).name}"
            for source, within in _sources(Path(name)):
                try:
                    files.writestr(f"{place}{within}", source.read_bytes())
                except OSError as error:
                    raise ConfigError(
                        "submit.file",
                        f"the map names {source}, which cannot be read: {error.strerror}",
                        "correct the map, or the permissions of the file",
                    ) from None
            places[name] = f"{FILES_DIRECTORY}/{place}"
        files.writestr(SUBMITTED_FILES, json.dumps(places))
        files.writestr(SUBMITTED_VARIABLES, json.dumps(references.variables))


def _sources(path: Path) -> list[tuple[Path, str]]:
    """Return the file, or the files in a directory (Hadoop's, certificates), each with its path below `path`."""
    if not path.is_dir():
        return [(path, "")]
    return [(file, f"/{file.name}") for file in sorted(path.iterdir()) if file.is_file()]

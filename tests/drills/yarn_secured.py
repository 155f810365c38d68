"""YARN, HDFS, HiveServer2 and Kafka with Kerberos: one keytab, shipped by `submit`, is the login of a service to all four.

Not a part of `scripts/test`; `scripts/drill` runs it, with the Kafka client that `scripts/build-gssapi` builds: it is in the
pack. Data and calls are encrypted. Tickets live for a minute, and brokers ask each client every 15 s to log in again.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from kafka2hive.hive.session import HiveSession
from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.gssapi_client import PACKAGE, build, environment
from tests.drills.on_yarn import (
    ATTEMPT_SECONDS,
    EXECUTORS,
    JARS,
    LOOPBACK,
    SubmittedService,
    application_masters,
    drivers,
    end,
    executors,
    secure_submitter,
)
from tests.drills.spark_workers import python_workers
from tests.harness.program import PROGRAM, Running, command_as_process
from tests.harness.scenario import Scenario, flights_in
from tests.integration.secure_map import (
    assert_flights_in_hive,
    grant,
    hive_options,
    on_secure_hdfs,
    secure_sections,
)
from tests.services.kafka_secure import SecureKafka
from tests.services.secure.hdfs import PRIVACY, SecureHdfs
from tests.services.secure.hive import SecureHive
from tests.services.secure.kdc import Kdc
from tests.services.secure.yarn import SecureYarn

USER = "short"
"""Has tickets of a minute."""
TICKET_SECONDS = 80.0
RECORDS = 12_000


@pytest.fixture(scope="module")
def secure_yarn(
    tmp_path_factory: pytest.TempPathFactory, kdc: Kdc, secure_hdfs: SecureHdfs
) -> Iterator[SecureYarn]:
    """A ResourceManager and a NodeManager in the realm, over the HDFS that encrypts."""
    secure_hdfs.client().mkdirs("/user")
    secure_hdfs.client().set_permission("/user", 0o777)
    folder = tmp_path_factory.mktemp("secured-yarn")
    with SecureYarn(folder, secure_hdfs.site_properties | PRIVACY, kdc, memory_mb=5120) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def gssapi_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of an environment where the client with GSSAPI is installed."""
    folder = tmp_path_factory.mktemp("gssapi-pack")
    subprocess.run(
        [*PROGRAM, "pack", str(folder)], check=True, env={**os.environ, "PYTHONPATH": str(build())}
    )
    [file] = folder.iterdir()
    return file


class SecuredService(SubmittedService):
    """One table; its map names keytab and authority relative to its directory."""

    def __init__(
        self, folder: Path, name: str, kafka: SecureKafka, hdfs: SecureHdfs, hive: SecureHive, kdc: Kdc
    ) -> None:
        kafka.create_topic(name, 2)
        grant(kafka, name, f"User:{USER}")
        scenario = Scenario(
            folder,
            name,
            kafka.kerberos(),
            on_secure_hdfs(hdfs, name),
            [flights_in(f"{name}.flights", name)],
            limits={"epoch_records": RECORDS // 4},
            spark={"master": "yarn", "conf": EXECUTORS | LOOPBACK | JARS},
            **secure_sections(kdc, hive, USER, "auth-conf"),
        )
        super().__init__(scenario, kafka.bootstrap, name, RECORDS)
        shutil.copy(kdc.keytab(USER), folder / "short.keytab")
        shutil.copy(kafka.trust, folder / "authority.pem")
        document: dict[str, Any] = yaml.safe_load(self.scenario.config.read_text())
        document["kerberos"]["keytab"] = "short.keytab"
        document["kafka"]["ssl.ca.location"] = "authority.pem"
        self.map = folder / "relative.yaml"
        self.map.write_text(yaml.safe_dump(document))


@pytest.mark.timeout(3_600)
def test_a_shipped_keytab_logs_containers_in_to_kafka_and_hive(
    strict_kafka: SecureKafka,
    kdc: Kdc,
    secure_hdfs: SecureHdfs,
    secure_hive: SecureHive,
    secure_yarn: SecureYarn,
    gssapi_pack: Path,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    hive = HiveSession(hive_options(kdc, secure_hive))
    hive.run(f"create database {unique}")
    service = SecuredService(tmp_path, unique, strict_kafka, secure_hdfs, secure_hive, kdc)
    service.send()
    submitter = secure_submitter(secure_yarn, kdc)
    rounds = form.count(1, 3)
    arguments = ["--pack", str(gssapi_pack), "--wait", "--attempts", str(rounds + 1)]
    logins, began = kdc.logins(USER), time.monotonic()
    with Running(service.map, *arguments, name="submit", env=submitter) as run:
        service.wait_for_generation(run, 1)
        assert_the_client_is_the_packs(secure_yarn)
        for number in range(rounds):
            [master] = application_masters(secure_yarn)
            master.kill()
            service.send()
            service.wait_for_generation(run, number + 2)
            time.sleep(TICKET_SECONDS)
            service.send_and_wait(run)
            for executor in executors(secure_yarn):
                executor.kill()
            service.send_and_wait(run)
        run.wait_until(lambda: not service.ledger.newest()["unregistered"], "in Hive", ATTEMPT_SECONDS, 1)
        end(run, secure_yarn)
    env = environment(kdc, tmp_path)
    for asked in (("recover", "--takeover"), ("verify", "--deep"), ("status",)):
        done = command_as_process(asked[0], service.scenario.config, *asked[1:], env=env)
        assert done.code == 0, done.out + done.log[-3000:]
    service.scenario.assert_exactly_once(service.stored)
    assert_flights_in_hive(hive, f"{unique}.flights", service.stored)
    hive.close()
    figures(
        masters_killed=rounds,
        minutes=round((time.monotonic() - began) / 60, 1),
        records=len(service.stored),
        logins=kdc.logins(USER) - logins,
    )


def assert_the_client_is_the_packs(yarn: SecureYarn) -> None:
    """Driver and tasks have loaded the client from the nodes' copies of the pack, and keep tickets in their containers."""
    workers = python_workers([node.pid for node in yarn.nodemanagers])
    clients = {process: files for process in [*drivers(yarn), *workers] if (files := client_of(process))}
    assert len(clients) >= 2, "no worker has a client"
    places = (*(str(node.output.parent) for node in yarn.nodemanagers), f"{PACKAGE.parent.resolve()}/lib/")
    for process, files in clients.items():
        assert all(file.startswith(places) for file in files), files
        assert Path(process.cwd(), "kafka2hive-tickets").exists(), process


def client_of(process: psutil.Process) -> list[str]:
    """The libraries of the Kafka client that the process has loaded; none if it has ended."""
    try:
        return [e.path for e in process.memory_maps() if re.search("/confluent_kafka/|/librdkafka", e.path)]
    except psutil.NoSuchProcess:
        return []

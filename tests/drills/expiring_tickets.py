"""A kerberised service whose tickets live for a minute, through NameNodes, KDCs and drivers that go and come back.

Long form only (scripts/drill): ten minutes, so that each connection is opened anew with tickets that expired long ago.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka2hive.hive.session import HiveSession
from kafka2hive.model.metastore import HiveLoginRefused
from tests.drills.form import Form
from tests.drills.stream import Stream, some_flights
from tests.drills.supervised import Supervised
from tests.harness.program import command_as_process
from tests.harness.scenario import Scenario, Storage, flights_in
from tests.integration.secure_map import hive_options, login, on_secure_hdfs, secure_sections
from tests.oracle.exact import flights_by_month
from tests.services.flights import flights
from tests.services.produce import produce
from tests.services.secure.hive import kerberised_hive

if TYPE_CHECKING:
    from tests.drills.conftest import Figures
    from tests.services.hive_server import HiveServer
    from tests.services.kafka_broker import KafkaBroker
    from tests.services.secure.hdfs import SecureHdfs
    from tests.services.secure.kdc import Kdc
    from tests.services.spark_standalone import SparkStandalone

PER_SECOND = 200
CALM_SECONDS = 75.0  # longer than a ticket lives
KDC_AWAY_SECONDS = 30.0


@pytest.mark.timeout(7_200)
def test_tickets_of_a_minute_last_for_ever(
    kafka: "KafkaBroker",
    kdc: "Kdc",
    secure_hdfs: "SecureHdfs",
    secure_hive: "HiveServer",
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: "Figures",
) -> None:
    table = f"{unique}.flights"
    hive = HiveSession(hive_options(kdc, secure_hive))
    hive.run(f"create database {unique}")
    kafka.create_topic(unique, 2)
    scenario = Scenario(
        tmp_path,
        unique,
        kafka.bootstrap,
        on_secure_hdfs(secure_hdfs, unique),
        [flights_in(table, unique)],
        **secure_sections(kdc, secure_hdfs, secure_hive, "short"),
    )
    load = Stream(kafka.bootstrap, {unique: 2}, some_flights(form.seed()), PER_SECOND)
    began = time.monotonic()
    faults = 0
    with load, Supervised(scenario.config) as service:
        service.wait_for_epochs(2)

        def restart_namenode() -> None:
            secure_hdfs.namenode.kill()
            secure_hdfs.start_namenode()

        def restart_kdc() -> None:
            kdc.kill()
            calm(service, KDC_AWAY_SECONDS)
            kdc.start()

        def restart_both() -> None:
            kdc.kill()
            secure_hdfs.namenode.kill()
            kdc.start()
            secure_hdfs.start_namenode()

        def restart_hive() -> None:
            secure_hive.kill()
            secure_hive.start()

        turns: list[Callable[[], object]] = [
            restart_namenode,
            restart_kdc,
            lambda: service.run.kill_driver(),
            restart_both,
            restart_hive,
        ]
        for fault in itertools.islice(itertools.cycle(turns), form.count(5, 7)):
            calm(service, CALM_SECONDS)
            fault()
            faults += 1
            service.wait_for_epochs(2, 900)
        stored = scenario.end(service, load)
    scenario.assert_exactly_once(stored)
    scenario.recover("--takeover")
    scenario.verify("--deep")
    partitions = {path for (path,) in hive.run(f"show partitions {table}")}
    assert partitions == {f"dt={month}" for month in flights_by_month(stored)}
    hive.close()
    figures(
        minutes=round((time.monotonic() - began) / 60, 1),
        faults=faults,
        records=len(stored),
        restarts=service.restarts,
        longest_silence_s=round(service.longest_silence(), 1),
    )


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("qop", ["auth", "auth-int"])
def test_hive_is_reached_at_its_weaker_protections(
    kdc: "Kdc", secure_hdfs: "SecureHdfs", tmp_path: Path, qop: str
) -> None:
    """The standard run has a server with auth-conf; these sign, or do not protect at all."""
    long = "x" * 300_000
    with kerberised_hive(tmp_path, secure_hdfs.site_properties, kdc, qop) as server:
        good = hive_options(kdc, server)
        for asked in (qop, None):
            session = HiveSession(replace(good, qop=asked))
            assert session.run(f"select '{long}'") == [(long,)]
            session.close()
        with pytest.raises(HiveLoginRefused, match=f"the server offers the protection {qop}, the map asks"):
            HiveSession(replace(good, qop="auth-conf")).run("select 1")


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("way", ["keytab", "token"])
def test_executors_of_a_cluster_log_in(
    kafka: "KafkaBroker",
    kdc: "Kdc",
    secure_hdfs: "SecureHdfs",
    spark_standalone: "SparkStandalone",
    unique: str,
    tmp_path: Path,
    way: str,
) -> None:
    """Two workers, by the keytab's path or by a delegation token's, which each node has; nothing is shipped."""
    kafka.create_topic(unique, 4)
    stored = produce(kafka.bootstrap, unique, flights()[:20_000], 4)
    secure = on_secure_hdfs(secure_hdfs, unique)
    environment, sections = {"KRB5_CONFIG": str(kdc.krb5_conf)}, {"kerberos": login(kdc)}
    storage = secure
    if way == "token":
        file = tmp_path / "token"
        secure_hdfs.fetch_token("etl", file)
        environment, sections = {"HADOOP_TOKEN_FILE_LOCATION": str(file)}, {}
        properties = {**secure.properties, "hadoop.security.authentication": "kerberos"}
        storage = Storage(secure.uri.replace("localhost", "127.0.0.1"), secure.tree, properties)
    scenario = Scenario(
        tmp_path,
        unique,
        kafka.bootstrap,
        storage,
        [flights_in(f"{unique}.flights", unique)],
        spark={
            "master": spark_standalone.url,
            "conf": {f"spark.executorEnv.{name}": value for name, value in environment.items()},
        },
        **sections,
    )
    done = command_as_process("run", scenario.config, "--once", env=environment)
    assert done.code == 0, done.log[-3000:]
    scenario.assert_exactly_once(stored)


def calm(service: Supervised, seconds: float) -> None:
    """Nothing happens but that tickets expire."""
    until = time.monotonic() + seconds
    service.wait_until(lambda: time.monotonic() >= until, "calm", seconds + 600)

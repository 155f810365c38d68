"""A service on secured systems whose tickets live for a minute; NameNode, KDC, HiveServer2 and driver go and come back.

Long form only (scripts/drill): ten minutes, so that each connection is opened anew with tickets that expired long ago.
"""

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka2hive.hive.session import HiveSession
from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.gssapi_client import PACKAGE, environment
from tests.drills.stream import Stream, some_flights
from tests.drills.supervised import Supervised
from tests.harness.program import command_as_process
from tests.harness.scenario import Scenario, Storage, flights_in
from tests.integration.secure_map import (
    assert_flights_in_hive,
    grant,
    hive_options,
    login,
    on_secure_hdfs,
    secure_sections,
)
from tests.services.flights import COUNT, flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_secure import LOGGED_IN, SecureKafka
from tests.services.produce import produce
from tests.services.secure.hdfs import SecureHdfs
from tests.services.secure.hive import SecureHive
from tests.services.secure.kdc import Kdc
from tests.services.spark_standalone import SparkStandalone

PER_SECOND = 200
CALM_SECONDS = 75.0  # longer than a ticket lives
KDC_AWAY_SECONDS = 30.0


@pytest.mark.timeout(7_200)
def test_tickets_of_a_minute_last_for_ever(
    strict_kafka: SecureKafka,
    kdc: Kdc,
    secure_hdfs: SecureHdfs,
    secure_hive: SecureHive,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    """Kafka, HDFS and Hive secured by one login; every flight of the year, and others that keep coming.

    Kafka with the client of `scripts/build-gssapi` where it was built, else by SCRAM over TLS.
    """
    table = f"{unique}.flights"
    hive = HiveSession(hive_options(kdc, secure_hive))
    hive.run(f"create database {unique}")
    strict_kafka.create_topic(unique, 4)
    grant(strict_kafka, unique, LOGGED_IN, "User:short")
    by_ticket = PACKAGE.exists()
    env = environment(kdc, tmp_path) if by_ticket else {}
    scenario = Scenario(
        tmp_path,
        unique,
        strict_kafka.kerberos() if by_ticket else strict_kafka.scram(),
        on_secure_hdfs(secure_hdfs, unique),
        [flights_in(table, unique)],
        limits={"epoch_records": COUNT // 3},
        **secure_sections(kdc, secure_hive, "short", "auth-conf"),
    )
    produce(strict_kafka.bootstrap, unique, flights(), 4)
    load = Stream(strict_kafka.bootstrap, {unique: 4}, some_flights(form.seed()), PER_SECOND)
    began = time.monotonic()
    faults = 0
    with load, Supervised(scenario.config, env=env) as service:
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
        for fault in itertools.islice(itertools.cycle(turns), form.count(6, 7)):
            calm(service, CALM_SECONDS)
            fault()
            faults += 1
            service.wait_for_epochs(2, 900)
        stored = scenario.end(service, load)
    scenario.assert_exactly_once(stored)
    for asked in (("recover", "--takeover"), ("verify", "--deep"), ("status",)):
        done = command_as_process(asked[0], scenario.config, *asked[1:], env=env)
        assert done.code == 0, done.out + done.log[-3000:]
    assert_flights_in_hive(hive, table, stored)
    hive.close()
    figures(
        kafka="GSSAPI" if by_ticket else "SCRAM",
        minutes=round((time.monotonic() - began) / 60, 1),
        faults=faults,
        records=len(stored),
        restarts=service.restarts,
        longest_silence_s=round(service.longest_silence(), 1),
    )


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("protection", ["integrity", "authentication"])
def test_hdfs_is_written_at_its_weaker_protections(
    kafka: KafkaBroker, kdc: Kdc, unique: str, tmp_path: Path, protection: str
) -> None:
    """The standard run has a cluster with privacy."""
    words = dict.fromkeys(("dfs.data.transfer.protection", "hadoop.rpc.protection"), protection)
    with SecureHdfs(tmp_path / "hdfs", kdc, words) as hdfs:
        kafka.create_topic(unique, 2)
        stored = produce(kafka.bootstrap, unique, flights()[:20_000], 2)
        storage = on_secure_hdfs(hdfs, unique)
        table = flights_in(f"{unique}.flights", unique)
        scenario = Scenario(tmp_path, unique, kafka.bootstrap, storage, [table], kerberos=login(kdc))
        scenario.run_once()
        scenario.assert_exactly_once(stored)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", ["keytab", "token"])
def test_executors_of_a_cluster_log_in(
    kafka: KafkaBroker,
    kdc: Kdc,
    secure_hdfs: SecureHdfs,
    spark_standalone: SparkStandalone,
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

"""On a real YARN: executors and application masters die; every record is one row, every file the submitter's.

The memory of executors and drivers is what docs/cluster.md tells, and YARN kills what uses more.
"""

import hashlib
import hmac
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from kafka2hive.config.mask_keys import fingerprint_of
from tests.drills.conftest import Figures
from tests.drills.driver_kills import PATIENCE
from tests.drills.executor_kills import WARN, Target, strike_until
from tests.drills.form import Form
from tests.drills.on_yarn import (
    ATTEMPT_SECONDS,
    EXECUTORS,
    JARS,
    LOOPBACK,
    ONE_EXECUTOR,
    USER,
    application_masters,
    owners,
    submitter,
)
from tests.drills.spark_workers import kill_executor_of
from tests.drills.supervised import EVERY_CHANGE
from tests.harness.program import Running, command_as_process
from tests.harness.service_map import location, write_map
from tests.oracle.data_files import visible_rows
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.jvm import OPTIONS
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce
from tests.services.yarn import Yarn

EPOCH_RECORDS = 4_000


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs, form: Form) -> Iterator[Yarn]:
    """A ResourceManager and a NodeManager over the shared HDFS; only the long form pays for the better compiler."""
    options, folder = form.pick(OPTIONS, ()), tmp_path_factory.mktemp("yarn")
    with Yarn(folder, hdfs.site_properties, memory_mb=5120, java_options=options) as cluster:
        yield cluster


def strike_in_client_mode(
    yarn: Yarn, target: Target, config: Path, environment: Mapping[str, str], kills: int, pack: Path
) -> Counter[str]:
    """Executors are killed while they write; a second run is refused; at last YARN kills the application: 69."""
    with Running(config, env={**environment, **EVERY_CHANGE}) as run:
        run.wait_for_epoch(PATIENCE)
        prey = target.prey([node.pid for node in yarn.nodemanagers], EPOCH_RECORDS)
        blows = [("executor_killed", kill_executor_of)] * kills
        felt = strike_until(run, prey, blows)
        assert not run.said("the tasks of epoch"), "an epoch did not survive its executor"
        assert not run.said("physical memory limits"), "YARN killed a container for its memory"
        assert_a_second_run_is_refused_at_once(yarn, config, environment, pack)
        assert run.alive, run.tail()
        yarn.kill_applications(USER)
        assert run.wait(PATIENCE) == 69, run.tail()
        assert run.said("[spark.ended]"), run.tail()
    return felt


def assert_a_second_run_is_refused_at_once(
    yarn: Yarn, config: Path, environment: Mapping[str, str], pack: Path
) -> None:
    """The tables belong to a live run: `submit --wait` ends with 72, and YARN tries no second time."""
    arguments = ["--pack", str(pack), "--user", USER, "--wait"]
    done = command_as_process("submit", config, *arguments, env=environment, seconds=ATTEMPT_SECONDS)
    assert done.code == 72, done.log + yarn.logs()[-3_000:]
    application, url = done.out.split()
    assert url.startswith("http://"), done.out
    assert yarn.attempts(application) == {1}


def movable(config: Path, yarn: Yarn, folder: Path) -> Path:
    """The same map with a variable and a directory that containers have only if somebody sends them."""
    document = yaml.safe_load(config.read_text())
    document["kafka"]["bootstrap.servers"] = "${BROKERS}"
    document["storage"]["config_dir"] = str(shutil.copytree(yarn.conf, folder / "hadoop"))
    moved = folder / "submitted.yaml"
    moved.write_text(yaml.safe_dump(document))
    return moved


def strike_in_cluster_mode(
    yarn: Yarn, target: Target, config: Path, environment: Mapping[str, str], kills: int, pack: Path
) -> int:
    """Each attempt's application master is killed once it has committed; the last one reads to the end. Epochs committed."""
    arguments = ["--pack", str(pack), "--user", USER, "--wait", "--once", "--attempts", str(kills + 1)]
    ledgers = target.scenario.ledgers_of()
    before = max(ledger.generation() for ledger in ledgers)
    with Running(config, *arguments, name="submit", env=environment) as run:
        for generation in range(before + 1, before + kills + 1):
            run.wait_until(
                lambda at=generation: all(ledger.generation() == at for ledger in ledgers),  # type: ignore[misc]
                f"generation {generation}",
                ATTEMPT_SECONDS,
            )
            target.scenario.wait_until_moved(run, ATTEMPT_SECONDS)
            shutil.rmtree(config.parent / "hadoop", ignore_errors=True)
            [master] = application_masters(yarn)
            master.kill()
        assert run.wait(ATTEMPT_SECONDS) == 0, run.tail() + yarn.logs()[-3_000:]
    assert {ledger.generation() for ledger in ledgers} == {before + kills + 1}
    return sum(len(ledger.history()) - 1 for ledger in ledgers)


@pytest.mark.timeout(7_200)
def test_on_yarn_killed_executors_masters_and_applications_cost_no_record(
    yarn: Yarn,
    pack: Path,
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    kills = form.count(1, 20)
    target = Target(kafka, hdfs, unique, tmp_path, (10 * kills + 5) * EPOCH_RECORDS // 2)
    conf = EXECUTORS | LOOPBACK | JARS
    environment = submitter(yarn)
    config = target.config("yarn", EPOCH_RECORDS, conf | WARN)
    felt = strike_in_client_mode(yarn, target, config, environment, kills, pack)
    config = movable(target.config("yarn", EPOCH_RECORDS, conf | ONE_EXECUTOR), yarn, tmp_path)
    environment["BROKERS"] = kafka.bootstrap
    target.send(6 * (kills + 1) * EPOCH_RECORDS // 2)
    epochs = strike_in_cluster_mode(yarn, target, config, environment, kills, pack)
    assert owners(hdfs.client(), target) == {USER}
    target.assert_right()
    figures(kills=kills, **felt, masters_killed=kills, epochs=epochs)


MASK_KEY = b"the secret key of all masks"


@pytest.mark.timeout(1_800)
def test_on_yarn_the_key_of_masks_travels_with_the_map(
    yarn: Yarn, pack: Path, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    """The key is only where `submit` runs, and is gone before a task starts; Kafka's values are nowhere on HDFS."""
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 1)
    mails = [f"plain{number % 7}@example.com" for number in range(100)]
    people = [json.dumps({"id": number, "mail": mail}).encode() for number, mail in enumerate(mails)]
    produce(kafka.bootstrap, unique, [*people, b"broken plain0@example.com"], 1)
    key = tmp_path / "mask.key"
    key.write_bytes(MASK_KEY)
    columns = {"id": "int", "mail": {"type": "string", "mask": "hmac"}}
    table = {"table": f"{unique}.people", "topics": [unique], "start": "earliest", "columns": columns}
    config = write_map(
        tmp_path,
        unique,
        kafka.bootstrap,
        uri,
        [{**table, "writer": {"compression": "none"}, "dead_letter_share": 1.0}],
        spark={"master": "yarn", "conf": EXECUTORS | LOOPBACK | JARS | ONE_EXECUTOR},
        dead_letters={"payload": "drop"},
        mask_keys=[{"file": str(key), "fingerprint": fingerprint_of(MASK_KEY)}],
    )
    hdfs.client().mkdirs(f"/{unique}", 0o777, True)
    arguments = ["--pack", str(pack), "--user", USER, "--wait", "--once"]
    environment = submitter(yarn)
    key.write_bytes(b"another key of all the masks")
    refused = command_as_process("submit", config, *arguments, env=environment, seconds=ATTEMPT_SECONDS)
    assert refused.code == 78 and "[mask.key_changed]" in refused.log, refused.log
    key.write_bytes(MASK_KEY)
    with Running(config, *arguments, name="submit", env=environment) as run:
        run.wait_until(lambda: bool(application_masters(yarn)), "an application master", ATTEMPT_SECONDS)
        key.unlink()
        assert run.wait(ATTEMPT_SECONDS) == 0, run.tail() + yarn.logs()[-3_000:]
    masks = [hmac.new(MASK_KEY, mail.encode(), hashlib.sha256).hexdigest() for mail in mails]
    rows = visible_rows(tree, location(uri, f"{unique}.people"))
    assert sorted((row.values["id"], row.values["mail"]) for row in rows) == list(enumerate(masks))
    below = [path for path in tree.files(uri) if "/packs/" not in path]
    assert any("dead_letters" in path for path in below)
    written = {path: tree.read(path) for path in below}
    assert [path for path, data in written.items() if b"plain0@" in data or MASK_KEY in data] == []

"""`doctor` on real Kafka, HDFS and HiveServer2: it finds what will go wrong, and nothing once that is mended."""

import tarfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.harness.program import Finished, command
from tests.harness.service_map import raw_table, write_map
from tests.harness.waiting import wait_until
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import IS_OLD_HIVE
from tests.services.kafka_broker import KafkaBroker

_HOUR = 3_600_000


def _findings(done: Finished) -> dict[str, dict[str, Any]]:
    """Warnings and errors by code."""
    return {check["code"]: check for check in done.document["checks"] if check["result"] != "ok"}


def test_records_that_are_deleted_soon_and_a_quota_are_found_and_a_mended_service_is_well(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, unique: str, tmp_path: Path
) -> None:
    uri, table = f"{hdfs.namenode_url}/{unique}", f"{unique}.old"
    warehouse = f"/{unique}/warehouse"
    hdfs.client().mkdirs(warehouse, create_parent=True)
    kafka.create_topic(unique, 2, {"retention.ms": str(24 * _HOUR)})
    now = round(time.time() * 1000)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for partition, age in ((0, 20), (0, 19), (0, 1), (1, 2)):
        producer.produce(unique, b"{}", partition=partition, timestamp=now - age * _HOUR)
    assert producer.flush(300) == 0
    section = {"url": f"hive://{hive.address}"}
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [raw_table(table, unique)], hive=section)
    assert command("init", config).code == 0
    hdfs.set_quota(warehouse, names=50, space_bytes=1 << 40)
    hdfs.set_quota(f"/{unique}", names=5_000)

    done = command("doctor", config, "--json")
    assert done.code == 0, done.out
    found = _findings(done)
    assert {"doctor.retention", "doctor.room"} <= found.keys(), found
    assert f"{unique}-0 loses records within 6.0 h" in found["doctor.retention"]["message"]
    assert "2 records in 1 topic partition" in found["doctor.retention"]["message"]
    checks = {(check["system"], check["subject"]): check for check in done.document["checks"]}
    assert "49 names and 1.1 TB left" in checks["storage", f"quota of {uri}/warehouse"]["message"]
    above = checks["storage", f"quota of {uri}"]
    assert above["code"] == "doctor.room" and " names left" in above["message"]
    assert checks["hive", "version"]["message"].startswith("Hive 3.1.3" if IS_OLD_HIVE else "Hive 4.")
    assert checks["storage", "clock"]["result"] == "ok"

    archive = tmp_path / "bundle.tar.gz"
    assert command("bundle", config, "-o", str(archive)).code == 0
    with tarfile.open(archive) as tar:
        names = {name.removeprefix("kafka2hive-bundle/") for name in tar.getnames()}
    assert {"map.json", "doctor.json", "status.json", f"ledgers/{table}.txt"} <= names, names

    hdfs.set_quota(warehouse, names=1_000_000)
    hdfs.set_quota(f"/{unique}", names=1_000_000)
    keep = ConfigEntry("retention.ms", str(240 * _HOUR), incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ResourceType.TOPIC, unique, incremental_configs=[keep])
    admin = kafka.admin()
    admin.incremental_alter_configs([topic])[topic].result(120)

    def is_well() -> bool:
        """A broker hears of a topic's new configuration a moment after the controller."""
        mended = command("doctor", config, "--json")
        return mended.code == 0 and not {"doctor.retention", "doctor.room"} & _findings(mended).keys()

    wait_until(is_well, "well", 600, 1)
    assert not [
        path for path in hdfs.client().list_status(f"/{unique}", recursive=True) if "probe" in path.path
    ]

"""A table whose Kafka cluster has another name in the map goes on where it was, by one recorded decision."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.drills.driver_kills import PROGRAM, environment
from tests.drills.failpoint import AFTER, BEFORE, Failpoint
from tests.harness.program import command, command_as_process, run_once
from tests.harness.service_map import raw_table, write_map
from tests.integration.test_dump_clusters import produce, rows
from tests.services.kafka_broker import KafkaBroker

TABLE = "shop.west"


def edit(config: Path, table: Mapping[str, Any], **sections: Any) -> None:
    """Change the keys of the map's first table and sections of the map; None removes one."""
    document = yaml.safe_load(config.read_text())
    changed = document["tables"][0] | table
    document["tables"][0] = {key: value for key, value in changed.items() if value is not None}
    document = {key: value for key, value in (document | sections).items() if value is not None}
    config.write_text(yaml.safe_dump(document, sort_keys=False))


@pytest.mark.parametrize("moment", [BEFORE, AFTER])
def test_a_renamed_cluster_goes_on_at_the_same_offsets_whenever_the_command_is_killed(
    tmp_path: Path, kafka: KafkaBroker, unique: str, moment: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka, [f"r{n}" for n in range(5)], unique)
    table = raw_table(TABLE, unique) | {"columns": {"payload": "string"}}
    config = write_map(tmp_path, "renamed", kafka.bootstrap, f"file://{tmp_path}", [table])
    assert run_once(config).code == 0
    produce(kafka, ["r5", "r6"], unique)
    edit(config, {"kafka": "east"}, kafka_clusters={"east": {"bootstrap.servers": kafka.bootstrap}})

    stopped = run_once(config, patient=False)
    assert stopped.code == 76, stopped.log
    typed = f"kafka2hive recover --table {TABLE} --accept-cluster {TABLE}"
    assert "kafka.cluster_changed" in stopped.log and typed in stopped.log
    planned = command("recover", config, "--plan", "--accept-cluster", TABLE)
    assert planned.code == 0 and f"{unique}-0@5 goes on in east/{unique}-0" in planned.out, planned.out
    assert "kafka.cluster_changed" in command("status", config).out, "a plan changes nothing"

    point = Failpoint("killed", "rename", rf"/{TABLE}/.*e\d+\.pending$", moment, mark=str(tmp_path / "mark"))
    killed = command_as_process(
        "recover", config, "--accept-cluster", TABLE, program=PROGRAM, env=environment(point)
    )
    assert killed.code == -9 and point.was_hit(), killed.log
    done = command("recover", config, "--accept-cluster", TABLE)
    assert done.code == 0, done.out
    assert ("is in the map's Kafka cluster already" in done.out) == (moment == AFTER)
    again = command("recover", config, "--accept-cluster", TABLE)
    assert again.code == 0 and "already" in again.out

    assert run_once(config).code == 0
    assert rows(tmp_path, "west") == [(f"r{n}", unique, n) for n in range(7)]
    checked = command("verify", config)
    assert checked.code == 0, checked.out

    edit(config, {"kafka": None}, kafka_clusters=None)
    assert run_once(config, patient=False).code == 76, "the former name is another name now"
    assert command("recover", config, "--accept-cluster", TABLE).code == 0
    produce(kafka, ["r7"], unique)
    assert run_once(config).code == 0
    assert rows(tmp_path, "west") == [(f"r{n}", unique, n) for n in range(8)]
    assert command("verify", config).code == 0

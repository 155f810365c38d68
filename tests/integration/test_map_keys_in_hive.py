"""Maps whose keys are no strings, from Kafka to Hive by the whole program: HiveServer2 finds each value by its key."""

import json
from pathlib import Path

from tests.harness.program import command, run_once
from tests.harness.service_map import write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

FORMATS = ("parquet", "orc", "json")
COLUMNS = {
    "id": "bigint",
    "n": "map<int,string>",
    "d": "map<date,bigint>",
    "p": "map<decimal(5,2),struct<a:map<boolean,bigint>>>",
}
RECORDS = [
    {"id": 1, "n": {"7": "seven", "-8": None}, "d": {"2013-01-01": 9}, "p": {"1.50": {"a": {"true": 3}}}},
    {"id": 2, "n": {}, "d": None, "p": {}},
    {"id": 3, "n": {"7.0": "x"}},
    {"id": 4, "n": {"1": "a"}, "d": {"2013-02-30": 1}},
]
QUERY = "select id, size(n), n[7], n[-8], d[cast('2013-01-01' as date)], p[cast(1.50 as decimal(5,2))].a[true], d is null"


def test_values_are_found_by_their_keys_and_other_keys_are_letters(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    kafka.create_topic(hive_database, 1)
    produce(kafka.bootstrap, hive_database, [json.dumps(record).encode() for record in RECORDS], 1)
    tables = [
        {
            "table": f"{hive_database}.{name}",
            "topics": [hive_database],
            "start": "earliest",
            "columns": COLUMNS,
            "metadata": {"topic": "k_topic", "partition": "k_partition", "offset": "k_offset"},
            "flush": {"interval": "1s"},
            "dead_letter_share": 1.0,
            "writer": {"format": name},
        }
        for name in FORMATS
    ]
    uri = f"{hdfs.namenode_url}/{hive_database}"
    config = write_map(
        tmp_path, hive_database, kafka.bootstrap, uri, tables, hive={"url": f"hive://{hive.address}"}
    )
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    for name in FORMATS:
        rows = hive.query(f"{QUERY} from {hive_database}.{name} order by id")
        assert rows == [(1, 2, "seven", None, 9, 3, False), (2, 0, None, None, None, None, True)], name
    verified = command("verify", config, "--deep", "--json")
    assert verified.code == 0, verified.log
    assert [table["findings"] for table in verified.document["tables"]] == [[]] * len(FORMATS)

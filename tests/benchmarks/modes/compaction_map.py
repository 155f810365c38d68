"""Maps of tables with `compact`, and partitions of small files in them."""

from pathlib import Path

from tests.benchmarks.aims import say
from tests.benchmarks.contestants import CORES
from tests.benchmarks.data.early_partition import BUCKET, SHAPE, EarlyFiles, stage
from tests.benchmarks.peers.shape import ZSTD_LEVEL
from tests.benchmarks.room import Room
from tests.harness.epochs import wiring_of
from tests.harness.service_map import write_map
from tests.services.produce import produce

TARGET_MB = 256


def compacting_map(
    room: Room,
    folder: Path,
    uri: str,
    tables: list[str],
    topic: str,
    *more: dict[str, object],
    **sections: object,
) -> Path:
    """A map of tables with `compact`, and `more` tables."""
    room.hive().query("create database if not exists compaction")
    table = {
        "topics": [topic],
        "start": "earliest",
        "columns": dict(SHAPE.columns),
        "bucket": BUCKET,
        "writer": {"level": ZSTD_LEVEL},
        "completion": {"delay": "1s"},
        "compact": {"target": f"{TARGET_MB}MiB"},
    }
    return write_map(
        folder,
        folder.name,
        room.kafka().bootstrap,
        uri,
        [*({"table": name, **table} for name in tables), *more],
        hive={"url": f"hive://{room.hive().address}"},
        spark={"master": f"local[{CORES},4]"},
        **sections,
    )


def staged(room: Room, config: Path, table: str, topic: str, files: int) -> EarlyFiles:
    """A table of the map with an early partition of so many files; the topic is made, if it is not there yet."""
    say(f"staging {files:,} files of {table}")
    if topic not in room.kafka().admin().list_topics(timeout=30).topics:
        room.kafka().create_topic(topic, 1)
    produce(room.kafka().bootstrap, topic, [b"{}"] * files, 1)
    return stage(wiring_of(config), table, topic, files)

"""A snapshot survives encoding and decoding, whatever characters the name of a Hive partition has."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.paths.path import join, partition_path
from kafka2hive.model.snapshot import Snapshot
from tests.harness.values import data_file, snapshot

LOCATION = "hdfs://namenode:8020/warehouse/air.db/flights"
# What str.splitlines takes for the end of a line: a record may bring any of them into a bucket's name.
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def snapshot_with_partition(value: str) -> Snapshot:
    path = partition_path((("country", value),))
    hive_partition = HivePartition("air.flights", path, join(LOCATION, path))
    read = OffsetRange(TopicPartition("flights", 0), 0, 3)
    final = join(hive_partition.location, "file.parquet.final")
    file = data_file(
        staged=join(LOCATION, "_tmp", "file"),
        final=final,
        hive_partition=hive_partition,
        length=9,
        rows=3,
        checksum="crc32:0",
        ranges=(read,),
    )
    return snapshot(table="air.flights", files=(file,), unregistered=(hive_partition,))


def test_a_partition_named_with_any_line_end_of_unicode_does_not_damage_the_ledger() -> None:
    for character in LINE_ENDS:
        snapshot = snapshot_with_partition(f"a{character}b")
        assert decode(encode(snapshot)) == snapshot, f"U+{ord(character):04X}"


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20))
def test_every_partition_name_comes_back_from_the_text(value: str) -> None:
    snapshot = snapshot_with_partition(value)
    assert decode(encode(snapshot)) == snapshot

"""What a refetch writes: the rows of the lost file, all of them and no others, where readers of its partition look."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafka2hive.kafka.port import ClusterView, TopicView
from kafka2hive.ledger.history import ReadFrom
from kafka2hive.ledger.look import look
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, TopicPartition
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import early_place
from kafka2hive.model.snapshot import EarlyPartition
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.recover import service as recover_service
from kafka2hive.service.recover.refetch import refetch_file, refuse_other_topic
from tests.harness.cli_ledger import READ, TABLE, Service, invoke, local, pending_service
from tests.harness.mock_broker import Broker, plain_map
from tests.harness.owner import new_owner
from tests.harness.values import data_file

DAYS = ("dt=2013-01-01", "dt=2013-01-02")
RECORD = b'{"carrier": "AA", "flight": %d, "time_hour": "2013-01-0%dT10:00:00Z"}'


def two_days(folder: Path, broker: Broker) -> Service:
    """Ten records of two days in turn, and a file of each day, which was not promoted yet."""
    service = pending_service(folder, bootstrap=broker.address, buckets=DAYS)
    plain_map(service.map)
    broker.produce_values("flights", [RECORD % (number, 1 + number % 2) for number in range(20)])
    return service


def flights(directory: str) -> list[int]:
    """The flights in the only file of a directory."""
    (file,) = local(directory).glob("*.final")
    return list(pq.ParquetFile(file).read().column("flight").to_pylist())


def test_only_the_rows_of_the_lost_files_bucket_come_back(tmp_path: Path, broker: Broker) -> None:
    service = two_days(tmp_path, broker)
    first, second = service.files
    service.staged(0).unlink()
    result = invoke("recover", "--refetch", first.final, "-c", str(service.map))
    assert result.exit_code == 0, result.output
    assert flights(first.hive_partition.location) == [6, 8, 10, 12, 14]
    names = [path.name for path in local(second.hive_partition.location).glob("*.final")]
    assert names == [base_name(second.final)], "the other day's rows are there, and must not come twice"


def test_other_rows_than_the_lost_file_held_are_not_committed(tmp_path: Path, broker: Broker) -> None:
    """As when the map leaves out records today that it did not leave out then."""
    service = pending_service(tmp_path, file_count=1, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce_values("flights", [RECORD % (number, 1 + number % 2) for number in range(20)])
    lost = service.files[0]
    service.staged(0).unlink()
    result = invoke("recover", "--refetch", lost.final, "-c", str(service.map))
    assert result.exit_code == 76 and "refetch.rows" in result.stdout, result.output
    words = " ".join(result.stdout.split())
    assert f"held {READ} rows" in words and "Kafka now gives 5" in words and "--accept-loss" in words
    assert not list(local(lost.hive_partition.location).glob("*.final"))
    assert not look(service.wiring.ports.files, service.wiring.paths(TABLE)).state.losses


def test_lost_dead_letters_come_back_without_the_rows_of_their_records(
    tmp_path: Path, broker: Broker
) -> None:
    service = two_days(tmp_path, broker)
    broker.produce_values("flights", [b"no flight", RECORD % (1, 1), b"neither"])
    wiring = service.wiring
    request = StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner))
    owned = start(wiring.ports, request).owned
    ranges = OffsetRange(TopicPartition("flights", 0), 18, 23)
    lost = replace(service.files[0], kind=FileKind.DEAD_LETTER, rows=2, ranges=(ranges,))
    settings = MapTables(wiring, None).settings
    (new,) = refetch_file(owned=owned, lost=lost, settings=settings, now_ms=0, bounds=None)
    assert (new.kind, new.rows) == (FileKind.DEAD_LETTER, 2)
    assert pq.ParquetFile(local(new.staged)).read().column("offset").to_pylist() == [20, 22]


def early_file(service: Service) -> tuple[EarlyPartition, DataFile]:
    """The service's first file as one of an early partition."""
    file = service.files[0]
    home = file.hive_partition
    place = early_place(home.location.removesuffix("/" + home.path), home.path)
    partition = HivePartition(home.table, home.path, place)
    early = EarlyPartition(partition=partition, since=2, files=1, rows=file.rows, closes="", certified=0)
    lost = replace(file, hive_partition=partition, final=join(place, base_name(file.final)))
    return early, lost


def test_a_file_of_an_early_partition_comes_back_at_its_early_place(tmp_path: Path, broker: Broker) -> None:
    """Hive has the partition there until it moves, so at its home no reader would see the rows."""
    service = two_days(tmp_path, broker)
    wiring = service.wiring
    paths = wiring.paths(TABLE)
    owned = start(wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner))).owned
    early, lost = early_file(service)
    owned = replace(owned, state=replace(owned.state, early=(early,)))
    settings = MapTables(wiring, None).settings
    (new,) = refetch_file(owned=owned, lost=lost, settings=settings, now_ms=0, bounds=None)
    assert new.hive_partition == early.partition
    assert new.final == join(early.partition.location, base_name(new.final))
    assert pq.ParquetFile(local(new.staged)).read().column("flight").to_pylist() == [6, 8, 10, 12, 14]


def test_a_file_of_a_partition_that_has_moved_is_not_fetched_again(tmp_path: Path, broker: Broker) -> None:
    service = two_days(tmp_path, broker)
    paths = service.wiring.paths(TABLE)
    owned = start(service.wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner))).owned
    _, lost = early_file(service)
    settings = MapTables(service.wiring, None).settings
    with pytest.raises(ManualActionRequired, match="was compacted") as refused:
        refetch_file(owned=owned, lost=lost, settings=settings, now_ms=0, bounds=None)
    assert refused.value.code == "refetch.compacted"


def data_file_of(topic: str) -> DataFile:
    read = OffsetRange(TopicPartition(topic, 0), 5, 15)
    return replace(data_file(final="hdfs://h/t/dt=1/a.final"), ranges=(read,))


@pytest.mark.parametrize(
    ("topic", "cluster", "id", "why"),
    [
        ("flights", "here", "id1", ""),
        ("flights", UNKNOWN_ID, UNKNOWN_ID, ""),
        (
            "flights",
            "other",
            "id1",
            "the map's brokers are of the Kafka cluster other, and it was read from here",
        ),
        ("flights", "here", "id2", "the topic flights was deleted and recreated since it was read"),
        ("flights", UNKNOWN_ID, "id2", "the topic flights was deleted and recreated since it was read"),
        (
            "east/flights",
            "here",
            "id1",
            "the map's brokers are of the Kafka cluster far, and it was read from here",
        ),
    ],
)
def test_the_same_offsets_of_another_log_are_not_fetched(topic: str, cluster: str, id: str, why: str) -> None:
    lost = data_file_of(topic)
    view = ClusterView(cluster, {topic: TopicView(topic, id, (0,))}, {"east": "far"})
    origin = ReadFrom("here", {topic: "id1"})
    if not why:
        refuse_other_topic(TABLE, lost, origin, lambda: view)
        return
    with pytest.raises(ManualActionRequired, match="its offsets are other records now") as caught:
        refuse_other_topic(TABLE, lost, origin, lambda: view)
    assert caught.value.code == "refetch.other_topic" and why in caught.value.message
    assert "--accept-loss" in caught.value.remedy


@pytest.mark.parametrize("origin", [None, ReadFrom("here", {"east/flights": "id1"})])
def test_a_file_of_a_cluster_that_the_map_does_not_have_is_refused_by_name(origin: ReadFrom | None) -> None:
    view = ClusterView("here", {"flights": TopicView("flights", "id1", (0,))})
    with pytest.raises(ManualActionRequired, match="the map does not have the cluster east") as caught:
        refuse_other_topic(TABLE, data_file_of("east/flights"), origin, lambda: view)
    assert caught.value.code == "refetch.other_topic" and "--accept-loss" in caught.value.remedy


def test_a_file_whose_reading_no_snapshot_tells_is_judged_by_its_number_of_rows() -> None:
    def nobody() -> ClusterView:
        raise AssertionError("Kafka is not asked")

    refuse_other_topic(TABLE, data_file_of("flights"), None, nobody)


def test_a_refetch_compares_where_the_records_were_read(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = two_days(tmp_path, broker)
    lost = service.files[0]
    service.staged(0).unlink()

    def refuse(
        table: str, file: DataFile, origin: ReadFrom | None, cluster: Callable[[], ClusterView]
    ) -> None:
        assert origin is not None and origin.topic_ids.keys() == {"flights"} == cluster().topics.keys()
        raise ManualActionRequired("refetch.other_topic", f"{table} {file.final}", "")

    monkeypatch.setattr(recover_service, "refuse_other_topic", refuse)
    result = invoke("recover", "--refetch", lost.final, "-c", str(service.map))
    assert result.exit_code == 76 and "refetch.other_topic" in result.stdout, result.output
    assert not list(local(lost.hive_partition.location).glob("*.final"))

"""The units of a deep audit, and the offsets that it reports as not comparable."""

from dataclasses import replace

from kafka2hive.kafka.port import ClusterView, TopicView, Watermark
from kafka2hive.kafka.positions import Logs
from kafka2hive.ledger.history import BoundsSearch
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from kafka2hive.model.snapshot import AcceptedLoss, EventBounds, ReplayedFile, Snapshot
from kafka2hive.service.verify.units import (
    Unit,
    fetchable_ranges,
    pieces,
    summary_lines,
    units_of,
    without_refetched,
)
from tests.harness.task_files import offsets
from tests.harness.values import data_file
from tests.harness.values import snapshot as of_epoch

TP = TopicPartition("t", 0)


def file(name: str, task: int, *ranges: OffsetRange) -> DataFile:
    return data_file(
        staged=f"s/{name}", final=name, hive_partition=HivePartition("d.t", "", "w"), task=task, ranges=ranges
    )


def snapshot(
    epoch: int, *accounts: RangeAccounting, files: tuple[DataFile, ...] = (), lost: str = ""
) -> Snapshot:
    losses = (AcceptedLoss(path=lost, remedy="refetch", rows=1, accepted_at="", epoch=epoch),) if lost else ()
    return of_epoch(
        epoch=epoch, files=files, positions=(Position(TP, 0, 9, "id"),), accounts=accounts, losses=losses
    )


def account(task: int, source: OffsetRange) -> RangeAccounting:
    return RangeAccounting(task, source, OffsetAccounting(read=len(source), written=len(source)))


def test_a_unit_is_a_task_with_its_files_and_those_fetched_again_for_it() -> None:
    first, second, empty = offsets("t", 0, 0, 5), offsets("t", 0, 5, 9), offsets("t", 1, 3, 3)
    history = [
        snapshot(0),
        snapshot(
            1,
            account(0, first),
            account(0, empty),
            account(1, second),
            files=(file("a", 0, first), file("b", 1, second)),
        ),
        snapshot(2, files=(file("again", 0, second), file("nobody's", 0, offsets("x", 0, 0, 9))), lost="b"),
    ]
    units, unassigned = units_of(history)
    assert [(u.epoch, u.task, u.ranges, [f.final for f in u.files]) for u in units] == [
        (1, 0, (first,), ["a"]),
        (1, 1, (second,), ["b", "again"]),
    ]
    assert [f.final for f in unassigned] == ["nobody's"]


def test_a_file_that_was_dumped_again_explains_no_row_that_another_one_lacks() -> None:
    of_unit = unit(offsets("t", 0, 0, 9))
    of_unit.files += [
        file(name, 0, offsets("t", 0, 0, 9)) for name in ("lost", "given up", "damaged", "again")
    ]
    left, contents = without_refetched(of_unit, [None, None, b"d", b"a"], {"lost", "damaged"})
    assert [f.final for f in left.files] == ["given up", "damaged", "again"]
    assert contents == [None, b"d", b"a"]


def unit(*ranges: OffsetRange) -> Unit:
    return Unit(
        1, 0, {r: OffsetAccounting(read=len(r)) for r in ranges}, {r.topic_partition: "id" for r in ranges}
    )


def logs(earliest: int, latest: int, topic_id: str = "id") -> Logs:
    cluster = ClusterView("-", {"t": TopicView("t", topic_id, (0,))})
    return Logs(cluster, {TP: Watermark(earliest)}, {TP: Watermark(latest)})


def test_offsets_of_another_cluster_are_not_those_of_the_maps() -> None:
    here, there = unit(offsets("t", 0, 0, 3)), unit(offsets("east/t", 0, 0, 3))
    here.cluster_id = there.cluster_id = "c"
    now = replace(logs(0, 9, "other"), cluster=ClusterView("d", {"t": TopicView("t", "other", (0,))}))
    for each in (here, there):
        (gone,) = fetchable_ranges(each, now)[1]
        assert gone.why == "of the Kafka cluster c, which the map does not have under that name"
    again = replace(now, cluster=replace(now.cluster, cluster_id="c"))
    assert [g.why for g in fetchable_ranges(here, again)[1]] == ["of a topic that was deleted and recreated"]


def test_what_kafka_has_no_more_is_counted_to_the_offset() -> None:
    whole = unit(offsets("t", 0, 10, 30))
    assert fetchable_ranges(whole, logs(0, 30)) == ([offsets("t", 0, 10, 30)], [])
    there, gone = fetchable_ranges(whole, logs(12, 25))
    assert there == [offsets("t", 0, 12, 25)]
    assert summary_lines(gone) == [
        "2 offsets aged out of Kafka: t-0@[10, 12)",
        "5 offsets truncated in Kafka: t-0@[25, 30)",
    ]
    there, gone = fetchable_ranges(whole, logs(99, 120))
    assert (there, summary_lines(gone)) == ([], ["20 offsets aged out of Kafka: t-0@[10, 30)"])


def test_another_topic_of_the_same_name_is_not_compared_with() -> None:
    there, gone = fetchable_ranges(unit(offsets("t", 0, 0, 3)), logs(0, 30, "another"))
    assert (there, summary_lines(gone)) == (
        [],
        ["3 offsets of a topic that was deleted and recreated: t-0@[0, 3)"],
    )
    assert fetchable_ranges(unit(offsets("t", 0, 0, 3)), logs(0, 30, "-"))[1] == []
    there, gone = fetchable_ranges(unit(offsets("t", 7, 0, 3)), logs(0, 30))
    assert (there, summary_lines(gone)) == ([], ["3 offsets not in Kafka any more: t-7@[0, 3)"])


def test_adjoining_ranges_are_told_as_one() -> None:
    gone = [
        g
        for r in ((0, 5), (5, 9), (11, 12))
        for g in fetchable_ranges(unit(offsets("t", 0, *r)), logs(20, 30))[1]
    ]
    assert summary_lines(gone) == ["10 offsets aged out of Kafka: t-0@[0, 9), t-0@[11, 12)"]


def test_large_units_are_cut_without_losing_an_offset() -> None:
    ranges = [offsets("t", 0, 0, 25), offsets("t", 1, 7, 8), offsets("t", 2, 0, 0)]
    cut = list(pieces(ranges, 10))
    assert [sum(map(len, group)) for group in cut] == [10, 10, 6]
    assert [o for group in cut for r in group for o in range(r.start, r.end)] == [*range(25), 7]
    assert list(pieces([], 10)) == []


def test_replayed_letters_belong_to_the_topic_of_their_file_though_another_one_has_the_same_offsets() -> None:
    same = offsets("t", 0, 0, 5)
    bounds = EventBounds(late_before_ms=1), EventBounds(late_before_ms=2)
    letters = [replace(file(name, 0, same), kind=FileKind.DEAD_LETTER) for name in ("old", "new")]
    replayed = ReplayedFile(path="old", task=0, account=OffsetAccounting())
    again = ReplayedFile(path="from old", task=0, account=OffsetAccounting())
    history = [
        replace(snapshot(1, account(0, same), files=(letters[0],)), bounds=bounds[0]),
        replace(snapshot(2, account(0, same), files=(letters[1],)), bounds=bounds[1]),
        replace(snapshot(3, files=(file("from old", 0, same),)), replayed=(replayed,), bounds=bounds[1]),
        replace(snapshot(4, files=(file("again", 0, same),)), replayed=(again,), bounds=bounds[1]),
        snapshot(5, files=(file("fetched again", 0, same),), lost="new"),
    ]
    old, new = ["old", "from old", "again"], ["new", "fetched again"]
    units, unassigned = units_of(history)
    assert [[f.final for f in unit.files] for unit in units] == [old, new] and not unassigned
    compacted = replace(file("compacted", 0, same), kind=FileKind.COMPACTED, ranges=())
    search = BoundsSearch()
    for each in (replace(snapshot(6), files=(compacted,)), *history[::-1]):
        search.add(each, [f for f in each.files if f is not compacted])
    assert search.bounds == {**dict.fromkeys(old, bounds[0]), **dict.fromkeys(new, bounds[1])}

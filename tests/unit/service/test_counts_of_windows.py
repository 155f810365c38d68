"""The sums of counts by time: what is whole, what was not counted, and which epochs are read."""

from collections.abc import Iterator

from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.window_counts import NO_WINDOW, WindowCount
from kafka2hive.service.inspect.counts import ALL, CountRequest, WindowKey, counts_of, moment
from tests.harness.values import snapshot

EIGHT = moment("2026-11-21T08:00:00Z")
ZERO, ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def window(start: str, records: int, first: int = 0, place: TopicPartition = ZERO) -> WindowCount:
    return WindowCount(
        topic_partition=place,
        start=start and f"2026-11-21T{start}:00Z",
        seconds=600,
        records=records,
        dead_lettered=1,
        bytes=10 * records,
        first=first,
        last=first + records - 1,
    )


def epoch(
    number: int, newest: str, *windows: WindowCount, read: int = 0, place: TopicPartition = ZERO
) -> Snapshot:
    account = RangeAccounting(0, OffsetRange(place, 0, read), OffsetAccounting(read=read, written=read))
    return snapshot(
        epoch=number,
        newest_ms=int(moment(f"2026-11-21T{newest}:00Z")) * 1000,
        windows=windows,
        accounts=(account,),
    )


HISTORY = [
    epoch(4, "08:31", window("08:20", 5, 30), window("08:30", 1, 35), read=6),
    epoch(3, "08:25", window("08:10", 2, 20), window("08:20", 7, 22), window("", 1, 29), read=10),
    epoch(2, "08:11", read=9),
    epoch(
        1, "08:05", window("08:00", 3, 0), window("08:00", 4, 0, ONE), window("08:00", 8, 0, OTHER), read=15
    ),
]


def key(start: str, topic: str = "t", number: int = ALL) -> WindowKey:
    return WindowKey(topic, start and f"2026-11-21T{start}:00Z", 600, number)


def test_windows_are_summed_over_epochs_and_topic_partitions() -> None:
    counts = counts_of("d.t", HISTORY, CountRequest())
    assert {each: total.records for each, total in counts.windows.items()} == {
        key("08:00"): 7,
        key("08:00", "u"): 8,
        key("08:10"): 2,
        key("08:20"): 12,
        key("08:30"): 1,
        key(NO_WINDOW): 1,
    }
    twenty = counts.windows[key("08:20")]
    assert (twenty.dead_lettered, twenty.bytes) == (2, 120)
    parts = counts_of("d.t", HISTORY, CountRequest(by_partition=True)).windows
    assert (parts[key("08:20", number=0)].first, parts[key("08:20", number=0)].last) == (22, 34)
    assert parts[key("08:00", number=1)].records == 4


def test_windows_up_to_the_newest_record_that_was_not_counted_are_incomplete() -> None:
    counts = counts_of("d.t", HISTORY, CountRequest())
    assert counts.uncounted == 9
    whole = {each.start[11:16] for each in counts.windows if counts.is_whole(each)}
    assert whole == {"08:20", "08:30"}
    of_other = counts_of("d.t", HISTORY, CountRequest(topic="u"))
    assert (of_other.uncounted, of_other.is_whole(key("08:00", "u"))) == (0, True)


def test_only_epochs_that_may_have_records_of_the_time_are_read() -> None:
    taken = []

    def history() -> Iterator[Snapshot]:
        for each in HISTORY:
            taken.append(each.epoch)
            yield each

    counts = counts_of("d.t", history(), CountRequest(begin=EIGHT + 20 * 60, end=EIGHT + 30 * 60))
    assert taken == [4, 3, 2]
    assert counts.windows.keys() == {key("08:20"), key(NO_WINDOW)}
    assert counts.windows[key("08:20")].records == 12 and counts.is_whole(key("08:20"))

"""A staged file of a task: a lost response costs only this file a retry, and nothing is counted twice or truncated."""

import zlib
from itertools import count

import pytest

from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.storage.port import Denied, NoRoom, NotFound, OutcomeUnknown, StorageError, Unavailable
from kafka2hive.task.run import SecondReads
from kafka2hive.task.write.limits import HeldBytes
from kafka2hive.task.write.upload import MOST_TRIES, SECONDS, Upload, UploadedFile, UploadPlace
from tests.harness.clock import SkippedTime
from tests.harness.unclear_files import Trouble, UnclearFiles
from tests.harness.values import file_name

STAGING = "hdfs://nn:1/w/db.t/_tmp"
PARTS = [b"a" * 40, b"b" * 50, b"c" * 10]
WHOLE = b"".join(PARTS)


def upload(files: UnclearFiles, held: HeldBytes | None = None) -> Upload:
    numbers = count()

    def new_name() -> DataFileName:
        return file_name("ab" * 4, 3, 7, slug="dt=1", uuid=f"{next(numbers):032x}")

    return Upload(UploadPlace(files, STAGING, held or HeldBytes(4_000), files.clock), new_name)


def publish(files: UnclearFiles, held: HeldBytes | None = None) -> UploadedFile:
    """Write all parts and publish. Then check that exactly one name is `.pending`, whole, closed, and the one in the result."""
    held = held or HeldBytes(4_000)
    file = upload(files, held)
    for part in PARTS:
        file.write(part)
    done = file.publish()
    assert files.names(".pending") == [done.path]
    assert done.path == f"{STAGING}/{done.name.in_state('pending')}"
    assert files.content[done.path] == WHOLE
    assert (done.length, done.checksum) == (len(WHOLE), f"crc32:{zlib.crc32(WHOLE):08x}")
    assert f"{STAGING}/{done.name.in_state('in-progress')}" not in files.open_names
    assert held.total == 0
    return done


@pytest.mark.parametrize("error", [OutcomeUnknown, Unavailable])
@pytest.mark.parametrize("done", [False, True])
def test_a_create_without_an_answer_means_another_name(done: bool, error: type[StorageError]) -> None:
    files = UnclearFiles([Trouble("create", nth=1, done=done, error=error)], {STAGING})
    files.calls.append(("create", "before"))
    publish(files)
    created = [path for operation, path in files.calls[1:] if operation == "create"]
    assert len(created) == len(set(created)) == 2
    assert len(files.names(".in-progress")) == done, "the name that was given up is left alone"


def test_a_staging_directory_that_is_missing_is_made_whatever_the_answer_to_it() -> None:
    publish(UnclearFiles([Trouble("mkdirs", done=True)]))
    publish(UnclearFiles([Trouble("mkdirs"), Trouble("create", nth=2)]))


@pytest.mark.parametrize("nth", [0, 1, 2])
@pytest.mark.parametrize("done", [False, True])
def test_a_write_without_an_answer_means_the_same_bytes_under_another_name(nth: int, done: bool) -> None:
    files = UnclearFiles([Trouble("write", nth=nth, done=done)], {STAGING})
    publish(files)
    (given_up,) = files.names(".in-progress")
    assert ("abandon", given_up) in files.calls
    assert len(files.content[given_up]) < len(WHOLE) or done
    assert ("rename", given_up) not in files.calls and ("close", given_up) not in files.calls


@pytest.mark.parametrize("done", [False, True])
def test_a_close_without_an_answer_is_looked_at_and_the_name_stays(done: bool) -> None:
    files = UnclearFiles([Trouble("close", done=done)], {STAGING})
    publish(files)
    assert files.count("create") == 1
    assert files.names(".in-progress") == []


def test_a_close_that_stays_unclear_means_another_name_and_the_first_is_never_renamed() -> None:
    files = UnclearFiles([Trouble("close", times=3)], {STAGING})
    publish(files)
    (given_up,) = files.names(".in-progress")
    assert ("abandon", given_up) in files.calls
    assert ("rename", given_up) not in files.calls


def test_a_file_that_was_closed_too_short_is_never_told_of() -> None:
    files = UnclearFiles([Trouble("close", done=True, length=60)], {STAGING})
    with pytest.raises(StorageError, match="fewer bytes"):
        publish(files)
    assert files.names(".pending") == []
    assert files.count("rename") == 0


@pytest.mark.parametrize("error", [OutcomeUnknown, Unavailable])
def test_a_rename_without_an_answer_that_was_done_is_found_done(error: type[StorageError]) -> None:
    files = UnclearFiles([Trouble("rename", done=True, error=error)], {STAGING})
    publish(files)
    assert files.count("rename") == files.count("create") == 1


def test_a_rename_without_an_answer_that_was_not_done_is_done_again() -> None:
    files = UnclearFiles([Trouble("rename", times=3)], {STAGING})
    publish(files)
    assert files.count("rename") == 4
    assert files.count("create") == 1


@pytest.mark.parametrize("done", [False, True])
def test_a_look_without_an_answer_is_taken_again(done: bool) -> None:
    files = UnclearFiles(
        [Trouble("rename", done=done), Trouble("stat", times=2, error=Unavailable)], {STAGING}
    )
    publish(files)
    assert files.count("create") == 1


def test_a_name_whose_rename_was_sent_is_never_replaced() -> None:
    files = UnclearFiles([Trouble("rename", times=99)], {STAGING})
    with pytest.raises(OutcomeUnknown):
        publish(files)
    assert files.count("rename") == MOST_TRIES
    assert files.count("create") == 1, "a late rename would stage the same rows twice in one attempt"


def test_a_rename_that_leaves_another_length_is_not_believed() -> None:
    files = UnclearFiles([Trouble("rename", done=True)], {STAGING})

    def cut(operation: str, path: str) -> None:
        if operation == "stat" and path.endswith(".pending"):
            files.content[path] = WHOLE[:-1]

    files.before = cut
    with pytest.raises(OutcomeUnknown):
        publish(files)


def test_a_closed_file_that_vanished_is_not_told_of() -> None:
    files = UnclearFiles([], {STAGING})

    def sweep(operation: str, path: str) -> None:
        if operation == "rename":
            del files.content[path]

    files.before = sweep
    with pytest.raises(NotFound):
        publish(files)
    assert files.count("rename") == 1


def test_a_staged_file_of_another_length_is_not_renamed_again() -> None:
    files = UnclearFiles([Trouble("rename")], {STAGING})

    def cut(operation: str, path: str) -> None:
        if operation == "stat" and path in files.content:
            files.content[path] = WHOLE[:-1]

    files.before = cut
    with pytest.raises(OutcomeUnknown):
        publish(files)
    assert files.count("rename") == 1
    assert files.names(".pending") == []


@pytest.mark.parametrize("operation", ["create", "write", "close", "rename"])
@pytest.mark.parametrize("error", [Denied, NoRoom])
def test_what_a_person_must_lift_is_not_tried_again(operation: str, error: type[StorageError]) -> None:
    files = UnclearFiles([Trouble(operation, error=error)], {STAGING})
    with pytest.raises(error):
        publish(files)
    assert files.count(operation) == 1
    assert files.clock.waits == []


def test_a_file_fails_after_its_tries() -> None:
    files = UnclearFiles([Trouble("create", times=999)], {STAGING})
    with pytest.raises(OutcomeUnknown):
        publish(files)
    assert files.count("create") == MOST_TRIES
    assert sum(files.clock.waits) < SECONDS


@pytest.mark.parametrize("operation", ["create", "close", "rename"])
def test_a_file_that_failed_holds_no_bytes_any_more(operation: str) -> None:
    held = HeldBytes(4_000)
    with pytest.raises(Denied):
        publish(UnclearFiles([Trouble(operation, error=Denied)], {STAGING}), held)
    assert held.total == 0


def test_a_file_fails_after_its_time_although_tries_are_left() -> None:
    files = UnclearFiles([Trouble("create", times=999, error=Unavailable)], {STAGING}, took=SECONDS / 3)
    with pytest.raises(Unavailable):
        publish(files)
    assert 2 < files.count("create") <= 5


def test_a_file_that_outgrows_its_share_streams_on_and_its_bytes_are_let_go() -> None:
    files, held = UnclearFiles([], {STAGING}), HeldBytes(200)
    file = upload(files, held)
    file.write(PARTS[0])
    assert held.total == 40 and files.content == {}
    file.write(PARTS[1])
    assert held.total == 0 and files.count("write") == 2
    file.write(PARTS[2])
    assert files.content[file.publish().path] == WHOLE


def test_what_one_file_holds_leaves_less_for_the_others() -> None:
    held = HeldBytes(400)
    sizes = [100, 100, 100, 100, 1]
    assert [held.take(0, size) for size in sizes] == [True, True, True, True, False]
    assert held.total == 400
    held.release(100)
    assert not held.take(0, 101), "more than one file may hold"
    assert held.take(0, 100)


@pytest.mark.parametrize("operation", ["create", "write"])
def test_a_file_that_begins_to_stream_may_still_change_its_name(operation: str) -> None:
    files = UnclearFiles([Trouble(operation)], {STAGING})
    publish(files, HeldBytes(200))
    assert files.count("create") == 2


def test_a_streaming_file_whose_write_has_no_answer_fails_and_is_given_up() -> None:
    files = UnclearFiles([Trouble("write", nth=2)], {STAGING})
    file = upload(files, HeldBytes(200))
    file.write(PARTS[0])
    file.write(PARTS[1])
    with pytest.raises(OutcomeUnknown):
        file.write(PARTS[2])
    file.abandon()
    assert files.calls[-1][0] == "abandon"
    assert files.names(".pending") == []


def test_a_streaming_file_is_closed_as_long_as_its_time_lasts_for_its_bytes_are_gone() -> None:
    files = UnclearFiles([Trouble("close", times=6, error=Unavailable)], {STAGING})
    publish(files, HeldBytes(200))
    assert (files.count("create"), files.count("close")) == (1, 7)


def test_a_file_given_up_while_it_is_published_makes_no_further_try() -> None:
    files = UnclearFiles([Trouble("create", times=999)], {STAGING})
    file = upload(files)
    file.write(WHOLE)

    def give_up(operation: str, path: str) -> None:
        if files.count("create") == 3:
            file.make_no_further_try()

    files.before = give_up
    with pytest.raises(OutcomeUnknown):
        file.publish()
    assert files.count("create") == 3


def test_a_file_given_up_before_it_is_published_leaves_nothing() -> None:
    files, held = UnclearFiles([], {STAGING}), HeldBytes(4_000)
    file = upload(files, held)
    file.write(WHOLE)
    file.abandon()
    assert held.total == 0 and files.calls == []


def test_a_table_is_read_twice_more_and_not_after_a_minute() -> None:
    clock = SkippedTime()
    reads = SecondReads(clock)
    assert [reads.may_begin("db.a") for _ in range(4)] == [True, True, False, False]
    clock.sleep(59)
    assert reads.may_begin("db.b")
    clock.sleep(1)
    assert not reads.may_begin("db.b"), "HDFS is away: the driver tries again, with its backoff"
    assert not SecondReads(SkippedTime(), most=0).may_begin("db.a"), "an audit must not see rows twice"

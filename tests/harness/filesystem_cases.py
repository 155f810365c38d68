"""What the FileSystem port promises, as cases that any adapter can be run against.

A case is a function of a FileSystem and the full path of an empty directory of its own; it fails with AssertionError. Run by
test_filesystem_contract.py on local disk and a real HDFS, and usable for the simulated one:

    for case in CASES: case(files, base)
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import SEEK_END

from kafka2hive.storage.port import (
    AlreadyExists,
    FileSystem,
    NotFound,
    ParentMissing,
    StorageError,
    write_file,
)

Case = Callable[[FileSystem, str], None]
CASES: list[Case] = []


def case(function: Case) -> Case:
    """Add a case to CASES."""
    CASES.append(function)
    return function


def outcome(function: Callable[[], object]) -> type[StorageError] | None:
    """The class of what was raised, None when nothing was."""
    try:
        function()
    except StorageError as error:
        return type(error)
    return None


def names(files: FileSystem, path: str) -> list[str]:
    """Names in a directory, as the adapter gives them."""
    return [status.name for status in files.list(path)]


@case
def what_was_written_is_read_back(files: FileSystem, base: str) -> None:
    writer = files.create(f"{base}/a")
    writer.write(b"one ")
    writer.write(memoryview(b"two"))
    writer.close()
    assert files.read(f"{base}/a") == b"one two"
    status = files.stat(f"{base}/a")
    assert (status.path, status.name, status.length, status.is_directory) == (f"{base}/a", "a", 7, False)


@case
def parts_of_an_open_file_are_those_of_the_whole(files: FileSystem, base: str) -> None:
    data = bytes(range(251)) * 20_000
    write_file(files, f"{base}/a", data)
    with files.open(f"{base}/a") as file:
        assert file.seek(0, SEEK_END) == len(data)
        for start, count in [(len(data) - 9, 9), (10, 5), (4_100_000, 300_000), (15, 5), (len(data), 1)]:
            file.seek(start)
            assert file.read(count) == data[start : start + count]
        file.seek(0)
        assert file.read() == data
    write_file(files, f"{base}/empty", b"")
    with files.open(f"{base}/empty") as file:
        assert file.read() == b""
    for path in (f"{base}/missing", base):
        assert outcome(partial(files.open, path)) is NotFound


@case
def an_empty_file_is_a_file(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/empty", b"")
    assert files.read(f"{base}/empty") == b""
    assert files.stat(f"{base}/empty").length == 0


@case
def names_with_equals_signs_spaces_and_letters_beyond_ascii_are_kept(files: FileSystem, base: str) -> None:
    odd = "dt=2013-01-01%3A05 ü"
    files.mkdirs(f"{base}/{odd}")
    write_file(files, f"{base}/{odd}/_f.x", b"x")
    assert names(files, base) == [odd]
    assert files.list(f"{base}/{odd}")[0].path == f"{base}/{odd}/_f.x"
    assert files.read(f"{base}/{odd}/_f.x") == b"x"


@case
def create_never_overwrites_a_file(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/a", b"first")
    assert outcome(lambda: files.create(f"{base}/a")) is AlreadyExists
    assert files.read(f"{base}/a") == b"first"


@case
def create_never_replaces_a_directory(files: FileSystem, base: str) -> None:
    files.mkdirs(f"{base}/d")
    assert outcome(lambda: files.create(f"{base}/d")) is AlreadyExists
    assert files.stat(f"{base}/d").is_directory


@case
def create_refuses_a_file_that_is_open_for_writing(files: FileSystem, base: str) -> None:
    writer = files.create(f"{base}/a")
    assert outcome(lambda: files.create(f"{base}/a")) is AlreadyExists
    writer.abandon()


@case
def create_makes_no_parents(files: FileSystem, base: str) -> None:
    assert outcome(lambda: files.create(f"{base}/no/such/a")) is ParentMissing
    assert outcome(lambda: files.create(f"{base}/no/a")) is ParentMissing
    assert names(files, base) == []


@case
def create_below_a_file_finds_no_parent(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"")
    assert outcome(lambda: files.create(f"{base}/f/a")) is ParentMissing


@case
def an_abandoned_file_keeps_its_name_and_does_not_block(files: FileSystem, base: str) -> None:
    writer = files.create(f"{base}/a")
    writer.write(b"x" * 100_000)
    writer.abandon()
    assert outcome(lambda: files.create(f"{base}/a")) is AlreadyExists
    files.rename(f"{base}/a", f"{base}/b")
    assert files.delete(f"{base}/b")


def moved(
    files: FileSystem, base: str, made: str, file: str, rename: tuple[str, str], then: str
) -> list[str]:
    """Make a directory and a file, rename one of them; the file is `then`, with its content. Gives the names at the base."""
    files.mkdirs(f"{base}/{made}")
    write_file(files, f"{base}/{file}", b"data")
    files.rename(f"{base}/{rename[0]}", f"{base}/{rename[1]}")
    assert files.read(f"{base}/{then}") == b"data"
    return names(files, base)


@case
def rename_moves_a_file_with_its_content(files: FileSystem, base: str) -> None:
    assert moved(files, base, "d", "a", ("a", "d/b"), "d/b") == ["d"]


@case
def rename_moves_a_directory_with_all_below_it(files: FileSystem, base: str) -> None:
    assert moved(files, base, "g1/sub", "g1/sub/a", ("g1", "g2"), "g2/sub/a") == ["g2"]


@case
def rename_never_overwrites_a_file(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/a", b"a")
    write_file(files, f"{base}/b", b"b")
    assert outcome(lambda: files.rename(f"{base}/a", f"{base}/b")) is AlreadyExists
    assert (files.read(f"{base}/a"), files.read(f"{base}/b")) == (b"a", b"b")


@case
def rename_never_moves_into_nor_replaces_an_existing_directory(files: FileSystem, base: str) -> None:
    for directory in ("source", "empty", "full/child"):
        files.mkdirs(f"{base}/{directory}")
    write_file(files, f"{base}/f", b"f")
    for source in ("source", "f"):
        for target in ("empty", "full"):
            moving = partial(files.rename, f"{base}/{source}", f"{base}/{target}")
            assert outcome(moving) is AlreadyExists
    assert outcome(lambda: files.rename(f"{base}/source", f"{base}/f")) is AlreadyExists
    assert names(files, base) == ["empty", "f", "full", "source"]
    assert (names(files, f"{base}/empty"), names(files, f"{base}/full")) == ([], ["child"])


@case
def rename_onto_itself_finds_the_target_there(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    files.mkdirs(f"{base}/d")
    assert outcome(lambda: files.rename(f"{base}/f", f"{base}/f")) is AlreadyExists
    assert outcome(lambda: files.rename(f"{base}/d", f"{base}/d")) is AlreadyExists
    assert names(files, base) == ["d", "f"]


@case
def rename_of_a_directory_into_itself_is_refused(files: FileSystem, base: str) -> None:
    files.mkdirs(f"{base}/d/sub")
    assert outcome(lambda: files.rename(f"{base}/d", f"{base}/d/new")) is StorageError
    assert outcome(lambda: files.rename(f"{base}/d", f"{base}/d/sub/new")) is StorageError
    assert names(files, f"{base}/d") == ["sub"]


@case
def rename_of_a_directory_onto_its_parent_finds_the_target_there(files: FileSystem, base: str) -> None:
    files.mkdirs(f"{base}/d/sub")
    assert outcome(lambda: files.rename(f"{base}/d/sub", f"{base}/d")) is AlreadyExists


@case
def rename_tells_a_missing_source_from_a_missing_parent(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    rename = files.rename
    assert outcome(lambda: rename(f"{base}/no", f"{base}/new")) is NotFound
    assert outcome(lambda: rename(f"{base}/no", f"{base}/f")) is NotFound
    assert outcome(lambda: rename(f"{base}/no", f"{base}/no")) is NotFound
    assert outcome(lambda: rename(f"{base}/no", f"{base}/nodir/new")) is NotFound
    assert outcome(lambda: rename(f"{base}/nodir/no", f"{base}/new")) is NotFound
    assert outcome(lambda: rename(f"{base}/f/no", f"{base}/new")) is NotFound
    assert outcome(lambda: rename(f"{base}/f", f"{base}/nodir/new")) is ParentMissing
    assert names(files, base) == ["f"]


@case
def rename_below_a_file_finds_no_parent(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    write_file(files, f"{base}/g", b"g")
    assert outcome(lambda: files.rename(f"{base}/g", f"{base}/f/new")) is ParentMissing
    assert outcome(lambda: files.rename(f"{base}/f", f"{base}/f/new")) is ParentMissing
    assert outcome(lambda: files.rename(f"{base}/no", f"{base}/f/new")) is NotFound


@case
def read_and_stat_and_list_find_nothing_where_nothing_is(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    for path in (f"{base}/no", f"{base}/no/no", f"{base}/f/no"):
        assert outcome(partial(files.read, path)) is NotFound
        assert outcome(partial(files.stat, path)) is NotFound
        assert outcome(partial(files.list, path)) is NotFound


@case
def read_of_a_directory_and_list_of_a_file_find_nothing(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    assert outcome(lambda: files.read(base)) is NotFound
    assert outcome(lambda: files.list(f"{base}/f")) is NotFound


@case
def list_gives_direct_children_sorted_by_name(files: FileSystem, base: str) -> None:
    for name in ("b", "a", "B", "_x", ".y", "a0", "a-1"):
        write_file(files, f"{base}/{name}", b"")
    files.mkdirs(f"{base}/c/below")
    write_file(files, f"{base}/c/file", b"12")
    found = files.list(base)
    assert [status.name for status in found] == [".y", "B", "_x", "a", "a-1", "a0", "b", "c"]
    assert [status.path for status in found] == [f"{base}/{status.name}" for status in found]
    assert [status.is_directory for status in found] == [False] * 7 + [True]
    assert [(s.name, s.length) for s in files.list(f"{base}/c")] == [("below", 0), ("file", 2)]


@case
def delete_says_whether_something_was_there(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    files.mkdirs(f"{base}/d")
    assert files.delete(f"{base}/f") is True
    assert files.delete(f"{base}/f") is False
    assert files.delete(f"{base}/d") is True
    assert files.delete(f"{base}/no/no") is False
    assert names(files, base) == []


@case
def delete_below_a_file_finds_nothing(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    assert files.delete(f"{base}/f/no") is False


@case
def delete_refuses_a_directory_that_is_not_empty(files: FileSystem, base: str) -> None:
    write_file_in_new_directory(files, f"{base}/d")
    assert outcome(lambda: files.delete(f"{base}/d")) is StorageError
    assert names(files, f"{base}/d") == ["f"]


@case
def mkdirs_makes_all_that_is_missing_and_may_be_repeated(files: FileSystem, base: str) -> None:
    files.mkdirs(f"{base}/a/b/c")
    files.mkdirs(f"{base}/a/b/c")
    files.mkdirs(f"{base}/a/b")
    assert files.stat(f"{base}/a/b/c").is_directory
    assert files.stat(f"{base}/a/b/c").length == 0


@case
def mkdirs_never_replaces_a_file(files: FileSystem, base: str) -> None:
    write_file(files, f"{base}/f", b"f")
    assert outcome(lambda: files.mkdirs(f"{base}/f")) is AlreadyExists
    assert outcome(lambda: files.mkdirs(f"{base}/f/below/it")) is AlreadyExists
    assert files.read(f"{base}/f") == b"f"


@case
def of_many_renames_of_one_source_exactly_one_wins(files: FileSystem, base: str) -> None:
    for kind in ("file", "directory"):
        if kind == "file":
            write_file(files, f"{base}/source", b"x")
        else:
            write_file_in_new_directory(files, f"{base}/source")
        with ThreadPoolExecutor(16) as pool:
            tries = [
                pool.submit(outcome, partial(files.rename, f"{base}/source", f"{base}/{kind}{n}"))
                for n in range(16)
            ]
        answers = [answer.result() for answer in tries]
        assert answers.count(None) == 1
        assert answers.count(NotFound) == 15
        assert names(files, base) == [f"{kind}{answers.index(None)}"]
        files.rename(f"{base}/{kind}{answers.index(None)}", f"{base}/old")
        assert not (kind == "file" and not files.delete(f"{base}/old"))


@case
def of_many_renames_to_one_target_exactly_one_wins(files: FileSystem, base: str) -> None:
    for n in range(16):
        write_file(files, f"{base}/s{n:02}", b"")
    with ThreadPoolExecutor(16) as pool:
        tries = [
            pool.submit(outcome, partial(files.rename, f"{base}/s{n:02}", f"{base}/target"))
            for n in range(16)
        ]
    answers = [answer.result() for answer in tries]
    assert answers.count(None) == 1
    assert answers.count(AlreadyExists) == 15
    assert len(names(files, base)) == 16


@case
def of_many_creates_of_one_name_exactly_one_wins(files: FileSystem, base: str) -> None:
    def create(number: int) -> None:
        writer = files.create(f"{base}/a")
        writer.write(b"%d" % number)
        writer.close()

    with ThreadPoolExecutor(16) as pool:
        tries = [pool.submit(outcome, partial(create, n)) for n in range(16)]
    answers = [answer.result() for answer in tries]
    assert answers.count(None) == 1
    assert answers.count(AlreadyExists) == 15
    assert files.read(f"{base}/a") == b"%d" % answers.index(None)


@case
def a_take_over_by_rename_fences_every_path_the_earlier_owner_knows(files: FileSystem, base: str) -> None:
    old, new = f"{base}/g1.old", f"{base}/g2.new"
    files.mkdirs(old)
    write_file(files, f"{old}/e1.final", b"state")
    writer = files.create(f"{old}/e2.in-progress")
    writer.write(b"late")
    files.rename(old, new)
    closed = outcome(
        writer.close
    )  # lands in the moved directory, or fails: never in a directory of the old name
    writer.abandon()
    assert closed in (None, ParentMissing, NotFound)
    assert outcome(lambda: files.rename(f"{old}/e2.in-progress", f"{old}/e2.pending")) is NotFound
    assert outcome(lambda: files.create(f"{old}/e2.again.in-progress")) is ParentMissing
    assert outcome(lambda: files.list(old)) is NotFound
    write_file(files, f"{base}/staged", b"")
    assert outcome(lambda: files.rename(f"{base}/staged", f"{old}/e3.final")) is ParentMissing
    assert names(files, base) == ["g2.new", "staged"]
    assert names(files, new) == ["e1.final", "e2.in-progress"]


@case
def a_file_that_was_removed_while_open_does_not_come_back(files: FileSystem, base: str) -> None:
    writer = files.create(f"{base}/a")
    writer.write(b"x")
    assert files.delete(f"{base}/a")
    assert outcome(writer.close) in (None, NotFound)
    writer.abandon()
    assert names(files, base) == []


@case
def a_path_of_another_file_system_is_refused(files: FileSystem, base: str) -> None:
    for path in ("hdfs://elsewhere:1/a", "file://host/a", "/a", "a"):
        assert outcome(partial(files.stat, path)) is StorageError
        assert outcome(partial(files.rename, f"{base}/a", path)) is StorageError


def write_file_in_new_directory(files: FileSystem, directory: str) -> None:
    """Make `directory` with one file `f` in it."""
    files.mkdirs(directory)
    write_file(files, f"{directory}/f", b"x")

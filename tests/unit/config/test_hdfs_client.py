"""What Hadoop's properties say about new files, in the notations that Hadoop accepts."""

import pytest

from kafka2hive.config.keys.hdfs_client import (
    NewFiles,
    is_honoured,
    parse_block_size,
    parse_umask,
)


@pytest.mark.parametrize(
    ("text", "umask"),
    [
        ("027", 0o027),
        ("27", 0o027),
        ("0", 0),
        ("u=rwx,g=rx,o=", 0o027),
        ("a=rx", 0o222),
        ("u=rwx,go=", 0o077),
    ],
)
def test_a_umask_is_octal_or_says_which_rights_stay(text: str, umask: int) -> None:
    assert parse_umask(text) == umask


@pytest.mark.parametrize("text", ["", "8", "1027", "g-w", "rwx", "u=rwx;g=rx"])
def test_any_other_umask_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="octal"):
        parse_umask(text)


@pytest.mark.parametrize(("text", "size"), [("134217728", 1 << 27), ("128m", 1 << 27), ("1G", 1 << 30)])
def test_a_block_size_may_have_a_unit(text: str, size: int) -> None:
    assert parse_block_size(text) == size


@pytest.mark.parametrize("text", ["0", "1000", "128mb", "-1", "m"])
def test_a_block_size_is_a_multiple_of_a_checksums_bytes(text: str) -> None:
    with pytest.raises(ValueError, match="512"):
        parse_block_size(text)


def test_modes_follow_from_the_umask_and_an_error_names_the_property() -> None:
    made = NewFiles.of({"fs.permissions.umask-mode": "007", "dfs.replication": "2"}.get)
    assert (made.file_mode, made.directory_mode, made.replication) == (0o660, 0o770, 2)
    plain = NewFiles.of(lambda _: None)
    assert (plain.file_mode, plain.directory_mode, plain.replication, plain.block_size) == (
        0o644,
        0o755,
        None,
        None,
    )
    with pytest.raises(ValueError, match=r"dfs\.blocksize is 'x', expected"):
        NewFiles.of({"dfs.blocksize": "x"}.get)


@pytest.mark.parametrize(
    ("name", "honoured"),
    [
        ("dfs.replication", True),
        ("dfs.ha.namenodes.ns", True),
        ("dfs.namenode.rpc-address.ns.nn1", True),
        ("dfs.nameservices", True),
        ("dfs.ha.namenodes", False),
        ("dfs.replicaton", False),
        ("fs.trash.interval", False),
    ],
)
def test_only_properties_that_are_read_are_honoured(name: str, honoured: bool) -> None:
    assert is_honoured(name) == honoured

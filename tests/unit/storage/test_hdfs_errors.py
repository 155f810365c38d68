"""The literal errors of hdfs-native 0.14.7 with a real NameNode 3.4.3, and the port's error for each."""

import pytest

from kafka2hive.storage.hdfs_errors import Operation, SourceOrParent, classify
from kafka2hive.storage.port import (
    AlreadyExists,
    Denied,
    ErasureCoded,
    NoRoom,
    NotFound,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
    Unavailable,
)

STACK = "\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSNamesystem.renameTo(FSNamesystem.java:3388)\\n"


def rpc(java: str, text: str) -> RuntimeError:
    """Return the text of hdfs-native's error for a NameNode's exception that it has no class for."""
    return RuntimeError(f'RPCError("{java}", "{text}{STACK}")')


HADOOP = "org.apache.hadoop"
STRIPES = "File /f could only be written to 1 of the 3 required nodes for RS-3-2-1024k. There are 1 datanode(s) running"
NO_DIRECTORY = "/x/f (is not a directory)"
ALLOCATION = "File /f could only be written to 0 of the 1 minReplication nodes. There are {} datanode(s) running and {}"


@pytest.mark.parametrize(
    ("operation", "error", "kind"),
    [
        (Operation.CREATE, FileExistsError("/x/a already exists as a directory\n\tat org"), AlreadyExists),
        (
            Operation.CREATE,
            FileNotFoundError("Parent directory doesn't exist: /x/no\n\tat org"),
            ParentMissing,
        ),
        (Operation.CREATE, rpc(f"{HADOOP}.fs.ParentNotDirectoryException", NO_DIRECTORY), ParentMissing),
        (
            Operation.CREATE,
            rpc(f"{HADOOP}.fs.InvalidPathException", "Invalid path name /x/a:b"),
            StorageError,
        ),
        (Operation.MKDIRS, FileExistsError("Path is not a directory: /x/f\n\tat org"), AlreadyExists),
        (Operation.MKDIRS, rpc(f"{HADOOP}.fs.ParentNotDirectoryException", NO_DIRECTORY), AlreadyExists),
        (
            Operation.MKDIRS,
            rpc(f"{HADOOP}.hdfs.protocol.NSQuotaExceededException", "quota=3 file count=4"),
            NoRoom,
        ),
        (Operation.WRITE, rpc(f"{HADOOP}.hdfs.protocol.DSQuotaExceededException", "quota = 4096 B"), NoRoom),
        (Operation.WRITE, rpc("java.io.IOException", ALLOCATION.format(1, "1 node(s) are excluded")), NoRoom),
        (
            Operation.WRITE,
            rpc("java.io.IOException", ALLOCATION.format(0, "0 node(s) are excluded")),
            Unavailable,
        ),
        (Operation.WRITE, RuntimeError('DataTransferError("All nodes failed for write")'), Unavailable),
        (Operation.WRITE, rpc("java.io.IOException", STRIPES), ErasureCoded),
        (
            Operation.SYNC,
            RuntimeError('UnsupportedFeature("hsync is not supported for erasure-coded files")'),
            ErasureCoded,
        ),
        (Operation.WRITE, OSError("Connection refused (os error 111)"), Unavailable),
        (Operation.CLOSE, OSError("RPC listener disconnected"), OutcomeUnknown),
        (
            Operation.CLOSE,
            FileNotFoundError("File does not exist: /x/o (inode 1) Holder c does not have"),
            NotFound,
        ),
        (
            Operation.WRITE,
            rpc(f"{HADOOP}.hdfs.server.namenode.LeaseExpiredException", "not open for writing"),
            NotFound,
        ),
        (Operation.RENAME, FileExistsError("rename destination /x/e2 already exists"), AlreadyExists),
        (
            Operation.RENAME,
            FileExistsError("The source /x/f and destination /x/f are the same"),
            AlreadyExists,
        ),
        (
            Operation.RENAME,
            rpc("java.io.IOException", "Source /a and destination /f must both be directories"),
            AlreadyExists,
        ),
        (Operation.RENAME, FileNotFoundError("rename source /x/no is not found."), NotFound),
        (
            Operation.RENAME,
            FileNotFoundError("rename destination parent /x/nope/q not found."),
            ParentMissing,
        ),
        (
            Operation.RENAME,
            rpc("java.io.IOException", "Rename destination /x/a/b is a directory or file under source /x/a"),
            StorageError,
        ),
        (
            Operation.RENAME,
            rpc(f"{HADOOP}.security.AccessControlException", "Permission denied: user=alice"),
            Denied,
        ),
        (
            Operation.RENAME,
            rpc(f"{HADOOP}.ipc.StandbyException", "Operation category WRITE is not supported"),
            Unavailable,
        ),
        (
            Operation.RENAME,
            rpc(f"{HADOOP}.hdfs.server.namenode.SafeModeException", "Name node is in safe mode."),
            Unavailable,
        ),
        (Operation.RENAME, OSError("Connection refused (os error 111)"), Unavailable),
        (
            Operation.RENAME,
            OSError("failed to lookup address information: Name or service not known"),
            Unavailable,
        ),
        (Operation.RENAME, OSError("RPC listener disconnected"), OutcomeUnknown),
        (Operation.RENAME, OSError("Connection reset by peer (os error 104)"), OutcomeUnknown),
        (Operation.RENAME, rpc("java.io.IOException", "something nobody has seen before"), OutcomeUnknown),
        (Operation.STAT, OSError("RPC listener disconnected"), Unavailable),
        (Operation.STAT, FileNotFoundError("/x/no"), NotFound),
        (Operation.LIST, rpc(f"{HADOOP}.security.AccessControlException", NO_DIRECTORY), NotFound),
        (
            Operation.LIST,
            rpc(f"{HADOOP}.security.AccessControlException", "Permission denied: user=alice"),
            Denied,
        ),
        (Operation.READ, RuntimeError('DataTransferError("All DataNodes failed: []")'), Unavailable),
        (
            Operation.DELETE,
            rpc(f"{HADOOP}.fs.PathIsNotEmptyDirectoryException", "Directory is not empty"),
            StorageError,
        ),
        (Operation.DELETE, rpc(f"{HADOOP}.security.AccessControlException", NO_DIRECTORY), NotFound),
    ],
    ids=lambda value: value.name if isinstance(value, Operation) else getattr(value, "__name__", None),
)
def test_an_error_text_of_hdfs_becomes_the_ports_error(
    operation: Operation, error: OSError | RuntimeError, kind: type[StorageError]
) -> None:
    port_error = classify(operation, "hdfs://h:1/x", error)
    assert type(port_error) is kind
    assert "\\tat" not in str(port_error)
    assert "\tat" not in str(port_error)


def test_a_connection_closed_at_the_login_points_to_the_rules_for_principals() -> None:
    closed = OSError("early eof")  # NameNode 3.4.3 whose auth_to_local has no rule for the principal
    asked = classify(Operation.STAT, "hdfs://h:1/x", closed)
    assert type(asked) is Unavailable and "auth_to_local" in asked.remedy
    assert type(classify(Operation.MKDIRS, "hdfs://h:1/x", closed)) is OutcomeUnknown
    assert classify(Operation.STAT, "hdfs://h:1/x", closed, has_login=False).remedy == ""


def test_quotes_in_a_namenodes_message_are_not_escaped() -> None:
    denied = rpc(f"{HADOOP}.security.AccessControlException", r"user=ann, inode=\"/warehouse\":hive")
    assert str(classify(Operation.CREATE, "hdfs://h:1/x", denied)) == (
        'hdfs://h:1/x: user=ann, inode="/warehouse":hive'
    )


def test_an_ambiguous_error_of_a_rename_needs_a_second_look() -> None:
    with pytest.raises(SourceOrParent):
        classify(
            Operation.RENAME, "hdfs://h:1/x", rpc(f"{HADOOP}.fs.ParentNotDirectoryException", NO_DIRECTORY)
        )

"""Translate the errors of hdfs-native into those of the port. Pure.

hdfs-native 0.14.7 raises FileNotFoundError, FileExistsError, OSError (transport; errno is not set) and RuntimeError (the
debug text of its own error: `RPCError("java class", "message\\n\\tat ...")`, `DataTransferError("...")`), so only
the text tells them apart. Each text below comes from a real NameNode 3.4.3 (docs/adr/0002-hdfs-native.md).
An `RPCError` is a response: the NameNode refused, and nothing happened. Without a response, a change may have happened.
"""

import re
from enum import Enum

from kafka2hive.kerberos.gssapi import meaning
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


class Operation(Enum):
    """A request to the NameNode; `write`, `sync` and `close` also involve DataNodes."""

    CREATE = "create"
    WRITE = "write"
    SYNC = "sync"
    CLOSE = "close"
    RENAME = "rename"
    DELETE = "delete"
    MKDIRS = "mkdirs"
    PROVE = "prove"
    READ = "read"
    STAT = "stat"
    LIST = "list"
    RECOVER = "recover"

    @property
    def changes(self) -> bool:
        """Whether a lost response is OutcomeUnknown. A lease recovery is not, because it can be requested again."""
        return self not in (Operation.READ, Operation.STAT, Operation.LIST, Operation.RECOVER)


class SourceOrParent(Exception):
    """A rename found no source or no target parent. The text does not say which, so the caller must stat the source."""


_RPC_ERROR = re.compile(r'(?:Fatal)?RPCError\("(?P<java>[^"]*)", "(?P<text>.*)', re.DOTALL)
_DATANODES = re.compile(r"There are (\d+) datanode\(s\) running")
_STRIPES = re.compile(r"required nodes for (?P<policy>[A-Z]\S+)")
_NO_HSYNC = "not supported for erasure-coded files"
_REPLICATE = (
    "`hdfs ec -setPolicy -replicate -path DIRECTORY` for the ledger root, the table's directory and that of its dead letters,"
    " also below an erasure-coded directory; files that are there stay as they are, and a run then continues by itself"
)
_NOT_NOW = frozenset(
    {"StandbyException", "SafeModeException", "RetriableException", "ObserverRetryOnActiveException"}
)
_NOT_SENT = ("Connection refused", "failed to lookup address information")
_NOT_ALLOWED = ("SASLError", "NoSASLMechanism")
_GSSAPI_ERROR = re.compile(r'GSSAPIError\(.*\}, (?P<minor>\d+), "(?P<text>.*)')
_TICKET_REFUSED = "the NameNode's clock, keytab or realm differs from the KDC's: see the NameNode's log"
_CUT_OFF = "RPC listener disconnected"
_CLOSED_AT_LOGIN = "early eof"
_NO_RULE = (
    "see the log of the NameNode: it closes the connection like this if hadoop.security.auth_to_local has no rule for the"
    ' principal ("No rules applied to ..")'
)
_KERBEROS_HINT = "; a NameNode that requires Kerberos does this to a client without it: does the map lack the section kerberos?"
_WRONG_REQUEST = frozenset(
    {"PathIsNotEmptyDirectoryException", "InvalidPathException", "PathComponentTooLongException"}
)


def classify(
    operation: Operation, path: str, error: OSError | RuntimeError, *, has_login: bool = True
) -> StorageError:
    """Return the port's error. Raises SourceOrParent if the text of a failed rename is ambiguous.

    `has_login` says whether the client uses Kerberos; only the message depends on it.
    """
    text = str(error)
    rpc = _RPC_ERROR.match(text)
    if rpc:
        java = re.split(r"[.$]", rpc["java"])[-1]
        return _rpc_error(operation, path, java, _unescape(_first_line(rpc["text"])))
    line = _first_line(text)
    if _NO_HSYNC in line:
        return _erasure_coded(path, "the HDFS client cannot sync such files, so they could be lost")
    if isinstance(error, FileExistsError):
        return AlreadyExists(path, line)
    if isinstance(error, FileNotFoundError):
        return _missing(operation, path, line)
    if any(sign in line for sign in _NOT_SENT):
        return Unavailable(path, line)
    if match := _GSSAPI_ERROR.match(line):
        return _login_error(path, int(match["minor"]), match["text"])
    if line.startswith(_NOT_ALLOWED):
        return Denied(path, line)
    if line.startswith(("DataTransferError", "BlocksNotFound", "ChecksumError")):
        # no DataNode took or gave the bytes; a file that is not closed counts for nothing
        return Unavailable(path, line)
    if has_login and line == _CLOSED_AT_LOGIN:
        return lost_response(operation, path, f"{line} (the NameNode closed the connection)", _NO_RULE)
    return lost_response(
        operation, path, line if has_login or _CUT_OFF not in line else line + _KERBEROS_HINT
    )


def _login_error(path: str, minor: int, text: str) -> StorageError:
    """Return Denied, or Unavailable if the KDC is unavailable. The request comes after the login, so it was not sent."""
    known_error = meaning(minor)
    reason = text.partition(": ")[2] or text  # GSSAPI's general text says nothing
    if known_error is None:
        return Denied(path, f"Kerberos login failed: {reason}", "see the log of the KDC and of the NameNode")
    kind = Unavailable if known_error.is_outage else Denied
    return kind(path, f"Kerberos login failed: {reason}", known_error.remedy)


def lost_response(operation: Operation, path: str, line: str, remedy: str = "") -> StorageError:
    """Return the error for a request without a response: a change may have happened, a read can be repeated."""
    kind = OutcomeUnknown if operation.changes else Unavailable
    return kind(path, line, remedy)


def _rpc_error(operation: Operation, path: str, java: str, line: str) -> StorageError:
    if java in _NOT_NOW:
        return Unavailable(path, f"{java}: {line}")
    if "QuotaExceeded" in java or java == "MaxDirectoryItemsExceededException":
        return NoRoom(path, line)
    if java == "ParentNotDirectoryException" or "(is not a directory)" in line:
        # AccessControlException has this text too, without a lack of permission
        return _below_a_file(operation, path, line)
    if java in ("AccessControlException", "AuthorizationException", "InvalidToken"):
        return Denied(path, line)
    if java == "SaslException":  # during the login, so the request was not sent
        return Denied(path, f"the NameNode refuses the ticket: {line}", _TICKET_REFUSED)
    if java == "LeaseExpiredException":
        return NotFound(path, line)  # something else removed or closed the file
    if java in _WRONG_REQUEST:
        return StorageError(path, line)
    if "must both be directories" in line:
        return AlreadyExists(path, line)
    if "is a directory or file under source" in line or "cannot be the root" in line:
        return StorageError(path, line)
    if "could only be written to" in line:
        return _no_datanode_took_it(path, line)
    return lost_response(operation, path, f"{java}: {line}")


def _no_datanode_took_it(path: str, line: str) -> StorageError:
    """Return NoRoom if DataNodes are live, otherwise Unavailable: the NameNode's text is the same for both causes.

    If DataNodes are live and none was chosen, they are full (or too busy, or being decommissioned). The count of excluded
    DataNodes does not help, because the NameNode itself excludes full ones.
    """
    if stripes := _STRIPES.search(line):
        return _erasure_coded(path, f"{stripes['policy']}; {line}")
    match = _DATANODES.search(line)
    return NoRoom(path, line) if match and int(match[1]) > 0 else Unavailable(path, line)


def _erasure_coded(path: str, why: str) -> ErasureCoded:
    return ErasureCoded(path, f"the directory is erasure-coded: {why}", _REPLICATE)


def _missing(operation: Operation, path: str, line: str) -> StorageError:
    if operation is Operation.RENAME:
        if line.startswith("rename source"):
            return NotFound(path, line)
        if line.startswith("rename destination parent"):
            return ParentMissing(path, line)
        raise SourceOrParent(line)
    if operation in (Operation.CREATE, Operation.MKDIRS):
        return ParentMissing(path, line)
    return NotFound(path, line)


def _below_a_file(operation: Operation, path: str, line: str) -> StorageError:
    """Return the error for a path that has a file among its parents."""
    if operation is Operation.RENAME:
        raise SourceOrParent(line)
    if operation is Operation.CREATE:
        return ParentMissing(path, line)
    if operation is Operation.MKDIRS:
        return AlreadyExists(path, line)
    return NotFound(path, line)


def _unescape(text: str) -> str:
    """Undo the escapes in the debug form of a Rust string."""
    return re.sub(r"\\(.)", r"\1", text)


def _first_line(text: str) -> str:
    """Cut off the Java stack trace, which follows a line break (in debug output, an escaped one)."""
    return re.split(r"\n|\\n", text, maxsplit=1)[0].removesuffix('")')

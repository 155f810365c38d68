"""HiveServer2's errors, sorted by what a caller can do.

HiveServer2 answers a statement with a TStatus of sqlState, errorCode and text. Its codes alone do not sort them: every
failure while a statement runs is `08S01` with the text of the metastore's exception (Hive's ErrorMsg.java), and an
unreachable metastore may also surface while compiling, as `42000`. So words of an outage win, then the classes that
blame the statement; what is left is tried again.
"""

import re
from typing import Any

from kafka2hive.model.hive.metastore import MetastoreRefused, MetastoreUnavailable, StatementFailed

NO_SUCH_TABLE = 10001
NO_SUCH_PARTITION = 10006
NO_SUCH_DATABASE = 10072

_OUTAGE = re.compile(
    r"TTransportException|Could not connect to meta ?store|SessionHiveMetaStoreClient|Unable to instantiate"
    r"|Connection (refused|reset)|Broken pipe|SocketTimeout|SocketException|ConnectException|NoRouteToHost"
    r"|UnknownHostException|SafeMode|StandbyException|Invalid SessionHandle|LockException|[Tt]imed out|Timeout"
    r"|OutOfMemory|no available server|SQLTransientConnection|Communications link failure|JDOException|Derby.*shutdown"
)
_BLAMES_STATEMENT = re.compile(
    r"NoSuchObject|AlreadyExists|InvalidObject|InvalidOperation|InvalidPartition|AccessControl|Permission denied"
    r"|partition spec is invalid|SemanticException|ParseException|AnalysisException|ValidationFailure"
    r"|HiveAccessControl|HiveAuthz"
)
# SQLSTATE classes of statements that are wrong (22: data, 28: authorization, 42: syntax or access rule).
_REFUSING_CLASSES = ("22", "28", "42")


def from_status(status: Any, statement: str) -> MetastoreUnavailable | MetastoreRefused:
    """The error for a TStatus that is not a success; `statement` begins the text."""
    text = (
        f"{_first_line(status.errorMessage)} [{status.sqlState}/{status.errorCode}] in: {_short(statement)}"
    )
    said = status.errorMessage or ""
    state = status.sqlState or ""
    if _OUTAGE.search(said):
        return MetastoreUnavailable(text)
    if state.startswith(_REFUSING_CLASSES) or _BLAMES_STATEMENT.search(said):
        return MetastoreRefused(text)
    return StatementFailed(text)


def is_missing_table(status: Any) -> bool:
    """Whether a TStatus says that the table or its database does not exist (Hive's codes, Spark's SQLSTATE)."""
    return status.errorCode in (NO_SUCH_TABLE, NO_SUCH_DATABASE) or status.sqlState in ("42S02", "42P01")


def is_missing_partition(status: Any) -> bool:
    """Whether a TStatus says that the partition does not exist (Hive's code, Spark's error class)."""
    return status.errorCode == NO_SUCH_PARTITION or "[PARTITIONS_NOT_FOUND]" in (status.errorMessage or "")


def _first_line(text: str | None) -> str:
    return (text or "no message").strip().splitlines()[0][:500]


def _short(statement: str) -> str:
    return statement if len(statement) <= 200 else f"{statement[:200]}... ({len(statement)} characters)"

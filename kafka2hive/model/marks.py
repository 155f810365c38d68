"""The kinds of messages of a change log that stand for no single row, with the words for the log and `status`."""

HEARTBEAT = "heartbeat"
WATERMARK = "watermark"
TRANSACTION = "transaction"
BOOTSTRAP = "bootstrap"
LOGICAL_MESSAGE = "message"
SCHEMA_CHANGE = "schema_change"
REMOVAL = "removal"
MARKS = {
    HEARTBEAT: "heartbeats, skipped",
    WATERMARK: "watermarks, skipped",
    TRANSACTION: "beginnings and ends of transactions, skipped",
    BOOTSTRAP: "beginnings and ends of bootstraps, skipped",
    LOGICAL_MESSAGE: "messages of logical decoding, skipped",
    SCHEMA_CHANGE: "changes of a schema, skipped",
    REMOVAL: "DROP of a table, or of a partition's rows, skipped: the change log has no deletions of these rows",
}
"""The kinds of marks, with the words for the log and `status`."""

TRUNCATION = "truncation"
MARK_WORDS = MARKS | {
    TRUNCATION: "TRUNCATE of the database's table, a row with __op t: the rows before it are gone from the database"
}

ROWS_ARE_GONE = frozenset({REMOVAL, TRUNCATION})
"""The kinds after which the database lacks rows without a deletion for each."""

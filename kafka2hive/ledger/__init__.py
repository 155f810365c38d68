"""The ledger: who owns a table, what is committed, and how it becomes visible (docs/protocol.md).

Written against the FileSystem port alone; the simulation runs these very modules.
"""

"""The ledger: who owns a table, what is committed, and how it becomes visible (docs/protocol.md).

It performs all I/O through its ports (ports.py), so the simulation runs the same modules.
"""

"""What state each table is in: told by a live run beside its heartbeat, or derived from ledger and Kafka without one."""

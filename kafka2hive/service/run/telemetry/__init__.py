"""What a run reports: log lines, metrics, the consumer group's offsets, its heartbeat, its tables' conditions."""

"""Who hears of a run: log line, metrics, consumer group, heartbeat, the tables' conditions."""

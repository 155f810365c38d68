"""The streaming query: when an epoch is planned, how its tasks run, how it ends."""

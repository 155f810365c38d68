"""The command `retain`, and the choice of expired partitions that it shares with a run."""

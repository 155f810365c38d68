"""When a Hive partition is complete: what was read, when a bucket ends, and who decides."""

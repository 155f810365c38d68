"""The command `compact`, and the units of compaction that it shares with a run."""

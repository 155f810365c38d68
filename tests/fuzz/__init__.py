"""Fuzzing: every example is a pure function of its target and its seed, run in a process of its own (docs/simulation.md)."""

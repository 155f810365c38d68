"""The port between a process that owns tables and its chores."""

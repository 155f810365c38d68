"""Commands that only read: the state of each table, the epoch and files of an offset, and what a run of the map would do."""

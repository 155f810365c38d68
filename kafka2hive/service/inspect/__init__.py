"""Commands that only read: the state of each table, a page of all, where an offset is, what a run of the map would do."""

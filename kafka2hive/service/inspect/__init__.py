"""Commands that only read: where a table stands, where an offset lies, what a map would do."""

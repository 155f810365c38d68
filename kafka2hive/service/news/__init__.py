"""News of a run: what the ledgers say goes to the receivers of the map, at least once and in order."""

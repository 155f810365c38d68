"""Reading ledgers without owning them: state, history, heartbeats, conditions."""

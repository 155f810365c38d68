"""How a process begins to own a table: it creates the ledger or takes it over, or finds that a start would stop."""

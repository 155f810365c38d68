"""What every use case needs of tables: their ledgers, their state and condition, and the check of what an epoch wrote."""

"""What verify checks: files, ledgers, registrations, and rows against Kafka or another table."""

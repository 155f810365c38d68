"""The audits of `verify`: ledgers, files, certificates, registrations, and rows against Kafka or another table."""

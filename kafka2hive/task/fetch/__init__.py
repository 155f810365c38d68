"""Fetch exact offset ranges from Kafka."""

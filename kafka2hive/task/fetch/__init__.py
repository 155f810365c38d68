"""Fetching exact offset ranges from Kafka."""

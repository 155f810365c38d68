"""Comparing the rows of data files with what they should be: Kafka's records decoded again, or another dump."""

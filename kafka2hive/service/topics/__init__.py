"""Kafka's side of the map's tables: which topics make which table, their watermarks, and positions of other tools."""

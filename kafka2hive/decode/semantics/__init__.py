"""Semantic types that a record's schema names, such as io.debezium.time.Date: what they mean, and which columns take them."""

"""Spark in the driver: its JVM, session and streaming query, and what makes a start cheap."""

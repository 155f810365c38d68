"""Spark in the driver: its JVM, session and streaming query, and the class archive that shortens its start."""

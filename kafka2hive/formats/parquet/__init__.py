"""Parquet, by pyarrow."""

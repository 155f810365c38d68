"""Parquet files, written and read by pyarrow."""

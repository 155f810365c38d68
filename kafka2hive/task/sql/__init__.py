"""The tasks of a table with SQL in Spark's workers: they decode messages before its SELECT and write files after it."""

"""Both ends of a table with SQL, in Spark's workers: messages to rows before its SELECT, rows to files behind it."""

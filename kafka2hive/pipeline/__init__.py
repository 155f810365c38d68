"""The way of a record: plan, fetch, decode, bucket, write; and the Spark query that drives it."""

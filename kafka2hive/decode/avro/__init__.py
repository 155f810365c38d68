"""Format `avro`: resolve each writer's schema once against the table's columns, and read its messages by that plan."""

"""Format `avro`: the writer's schema is resolved once against the table's columns; its plan then reads each message."""

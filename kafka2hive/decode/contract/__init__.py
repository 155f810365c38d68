"""What decoders are made from: a specification, sources of columns, counts of changed values."""

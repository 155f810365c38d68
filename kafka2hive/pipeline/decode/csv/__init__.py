"""Format `csv`: one record of fields a message, each field a text for the column at its place."""

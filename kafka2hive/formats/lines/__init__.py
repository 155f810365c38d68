"""Files of lines (JSON, delimited text), their compression and their trailer."""

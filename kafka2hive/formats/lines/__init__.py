"""Files of lines (JSON, delimited text): how they are compressed, and what stands behind the last row."""

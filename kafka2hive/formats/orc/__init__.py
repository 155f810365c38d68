"""ORC files. pyarrow's liborc writes the stripes, this project the tail (docs/adr/0017-file-formats.md)."""

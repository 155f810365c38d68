"""ORC, by pyarrow's liborc, with a tail of our own (docs/adr/0017-file-formats.md)."""

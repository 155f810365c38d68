"""Single values and whole columns of them, exactly as docs/decoding.md says."""

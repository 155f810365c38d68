"""Convert single values and whole columns exactly as docs/decoding.md says."""

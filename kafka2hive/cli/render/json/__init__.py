"""What `--json` prints: one module for each command."""

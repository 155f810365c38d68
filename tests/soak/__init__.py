"""Hours of one service under load and faults; `scripts/soak` runs it."""

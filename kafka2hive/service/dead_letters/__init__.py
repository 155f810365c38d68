"""Dead letters as the service sees them: how many may be committed, and what is in their table."""

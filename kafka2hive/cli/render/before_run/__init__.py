"""What the commands before a run print."""

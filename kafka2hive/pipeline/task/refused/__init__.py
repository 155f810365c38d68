"""What a task cannot write: messages that become dead letters, and tables that fail."""

"""The command `dead-letters replay`, and the choice and accounts of letter files, which it shares with a run."""

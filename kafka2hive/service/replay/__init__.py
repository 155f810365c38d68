"""The command `dead-letters replay`, and the files of letters as it shares them with a run."""

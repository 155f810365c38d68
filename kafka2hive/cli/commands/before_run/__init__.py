"""Commands that a map is made and tried with, and that make things ready for its first run."""

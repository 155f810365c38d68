"""What a run notices about the columns of its tables."""

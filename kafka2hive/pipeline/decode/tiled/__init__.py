"""The fast way for records of one shape: their bytes as a matrix."""

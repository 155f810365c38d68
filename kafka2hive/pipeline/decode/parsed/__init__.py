"""Without the compiled decoder: pyarrow.json behind screens, and whole columns converted by strict kernels."""

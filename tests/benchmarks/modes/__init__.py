"""Figures beside the comparison: one module for each mode of `scripts/bench`, and what several of them use."""

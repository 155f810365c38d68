"""Plausible mistakes in product code, and the proof that something fast notices each of them (docs/simulation.md)."""

"""Deterministic simulation of the production ledger code: docs/simulation.md."""

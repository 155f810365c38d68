"""The deterministic simulation of the production ledger code: docs/simulation.md."""

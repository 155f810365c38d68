"""Drills: the whole service on real services that fail, with one oracle and a report.

Short in `scripts/test --all`, some of them in each `scripts/test`; long in `scripts/drill`. The code is the same, the numbers
differ (`Form`).
"""

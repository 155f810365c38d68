"""Drills: the whole service on real services that fail, with one oracle and a report.

Short in `scripts/test`, long in `scripts/drill`; the same code, other numbers (`Form`).
"""

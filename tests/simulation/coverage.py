"""Cases that must really have happened before a batch of schedules proves anything (docs/protocol.md, last section)."""

from collections import Counter

CASES = (
    "fenced at C1",
    "fenced at C2",
    "fenced at R6",
    "fenced at R7",
    "ambiguous commit that was done",
    "ambiguous commit that was not",
    "late commit that hit",
    "late take-over refused",
    "late take-over that hit",
    "late create that hit",
    "late delete that hit",
    "late promote that hit",
    "junk pending ignored",
    "roll-forward",
    "roll-forward of a half-moved epoch",
    "chain of three fruitless starts",
    "zombie two generations late",
    "take-over lost",
    "fresh starts (R0)",
    "debts carried",
    "Hive failed",
    "twins",
    "sweeps",
    "retention",
    "crashes",
    "pauses",
)


def never_happened(count: Counter[str]) -> list[str]:
    """The cases a batch did not see."""
    return [case for case in CASES if not count[case]]

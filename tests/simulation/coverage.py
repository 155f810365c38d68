"""Cases that must really have happened before a batch of schedules proves anything (docs/protocol.md, last section)."""

from collections import Counter

LEDGER = (
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
    "partitions complete",
    "certificates written",
    "roll-forward with certificates",
    "roll-forward",
    "roll-forward of a half-moved epoch",
    "chain of three fruitless starts",
    "zombie two generations late",
    "take-over lost",
    "fresh starts (R0)",
    "pending registrations carried",
    "Hive failed",
    "twins",
    "orphans deleted",
    "retention",
    "crashes",
    "pauses",
)

SERVICE = (
    "ambiguous commit that was done",
    "ambiguous commit that was not",
    "calm",
    "chain of three fruitless starts",
    "crashes",
    "pending registrations carried",
    "ended with 0",
    "ended with 69",
    "ended with 72",
    "ended with 73",
    "fenced",
    "Hive failed",
    "late commit that hit",
    "late create that hit",
    "late delete that hit",
    "late promote that hit",
    "late take-over that hit",
    "certificates written",
    "roll-forward with certificates",
    "pauses",
    "retention",
    "retries",
    "roll-forward of a half-moved epoch",
    "tables set aside",
    "take-over lost",
    "twins",
)

DAMAGE = (
    "a repair killed",
    "another generation",
    "final file cut",
    "final file missing",
    "final place taken",
    "killed in the middle of an epoch",
    "ledger gone",
    "log cut off",
    "marker of another",
    "marker unreadable",
    "older ledger restored",
    "partition elsewhere",
    "pending cut",
    "pending two ahead",
    "records aged out",
    "repaired",
    "snapshot edited",
    "staged file cut",
    "staged file missing",
)

CASES = {"ledger": LEDGER, "service": SERVICE, "damage": DAMAGE}
"""By kind of schedules."""


def never_happened(count: Counter[str], kind: str = "ledger") -> list[str]:
    """The cases a batch did not see."""
    return [case for case in CASES[kind] if not count[case]]

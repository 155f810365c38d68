"""The production modules a driver runs, as one value: the real ones, or a variant with one mistake built in."""

from dataclasses import dataclass
from types import ModuleType

from kafka2hive.ledger import draft, epoch, hygiene, init, look, marker, start, take_over
from kafka2hive.publish import register


@dataclass(frozen=True, slots=True)
class Production:
    """Modules by name; a variant holds modules compiled from patched sources (mutants.py)."""

    draft: ModuleType = draft
    epoch: ModuleType = epoch
    hygiene: ModuleType = hygiene
    init: ModuleType = init
    look: ModuleType = look
    marker: ModuleType = marker
    register: ModuleType = register
    start: ModuleType = start
    take_over: ModuleType = take_over


REAL = Production()

"""The modules that a schedule runs, as one value: the real ones, or copies with one mistake (variant.py)."""

from dataclasses import dataclass
from types import ModuleType

from kafka2hive.ledger import (
    cleanup,
    draft,
    early_files,
    epoch,
    history,
    init,
    location,
    look,
    register,
    retention,
    retire,
    start,
)
from kafka2hive.ledger.repair import older_ledger, rebuild
from kafka2hive.service.compaction import units
from tests.simulation import compacting_caller, ledger_caller, retaining_caller, tasks
from tests.simulation.service import driver as service
from tests.simulation.service import repair


@dataclass(frozen=True, slots=True)
class Production:
    """The ledger's and the publisher's modules, and the simulated processes and tasks that use them."""

    draft: ModuleType = draft
    ledger_caller: ModuleType = ledger_caller
    compacting_caller: ModuleType = compacting_caller
    early_files: ModuleType = early_files
    epoch: ModuleType = epoch
    cleanup: ModuleType = cleanup
    history: ModuleType = history
    init: ModuleType = init
    look: ModuleType = look
    location: ModuleType = location
    register: ModuleType = register
    retention: ModuleType = retention
    retaining_caller: ModuleType = retaining_caller
    retire: ModuleType = retire
    older_ledger: ModuleType = older_ledger
    rebuild: ModuleType = rebuild
    repair: ModuleType = repair
    service: ModuleType = service
    start: ModuleType = start
    tasks: ModuleType = tasks
    units: ModuleType = units


REAL = Production()

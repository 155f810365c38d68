"""The modules that a schedule runs, as one value: the real ones, or copies with one mistake (variant.py)."""

from dataclasses import dataclass
from types import ModuleType

from kafka2hive.ledger import (
    cleanup,
    draft,
    epoch,
    history,
    init,
    location,
    look,
    register,
    retire,
    start,
)
from kafka2hive.ledger.repair import older_ledger, rebuild
from tests.simulation import (
    compacting_caller,
    ledger_caller,
    lost_compacted,
    replaying_caller,
    retaining_caller,
    tasks,
)
from tests.simulation.service import driver as service
from tests.simulation.service import repair


@dataclass(frozen=True, slots=True)
class Production:
    """The ledger's and the publisher's modules, and the simulated processes and tasks that use them."""

    draft: ModuleType = draft
    ledger_caller: ModuleType = ledger_caller
    compacting_caller: ModuleType = compacting_caller
    epoch: ModuleType = epoch
    cleanup: ModuleType = cleanup
    history: ModuleType = history
    init: ModuleType = init
    look: ModuleType = look
    location: ModuleType = location
    lost_compacted: ModuleType = lost_compacted
    register: ModuleType = register
    replaying_caller: ModuleType = replaying_caller
    retaining_caller: ModuleType = retaining_caller
    retire: ModuleType = retire
    older_ledger: ModuleType = older_ledger
    rebuild: ModuleType = rebuild
    repair: ModuleType = repair
    service: ModuleType = service
    start: ModuleType = start
    tasks: ModuleType = tasks


REAL = Production()

"""What `recover` is asked."""

from dataclasses import dataclass

from kafka2hive.kafka.acceptance import GapAcceptance
from kafka2hive.service.recover.forget import Registration


@dataclass(frozen=True, slots=True)
class RecoverOrder:
    """What is asked; `tables` empty: all of the map's service. Addresses are full final paths.

    `accept_location` names tables whose changed location in the map is meant. `rebuild` names a table whose ledger is
    lost; then `accept_gap` is about what the data files do not prove.
    """

    plan_only: bool = False
    take_over: bool = False
    tables: tuple[str, ...] = ()
    accept_loss: tuple[str, ...] = ()
    refetch: tuple[str, ...] = ()
    accept_gap: tuple[GapAcceptance, ...] = ()
    rebuild: str | None = None
    forget: tuple[Registration, ...] = ()
    accept_location: tuple[str, ...] = ()

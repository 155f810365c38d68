"""A registration that Hive refuses for ever can be given up: recorded, never pending again, no finding of `verify`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import RegistrationUpdate
from kafka2hive.model.errors import ConfigError, TableError
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.metastore import MetastoreRefused
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoverRequest, RecoverResult, Registration
from kafka2hive.service.recover.service import recover
from kafka2hive.service.start.takeover import RegistrationOutcome
from kafka2hive.service.verify.result import VerifyRequest, VerifyResult
from kafka2hive.service.verify.verify import verify
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import TABLE, Service, pending_service
from tests.harness.one_by_one import OneByOne
from tests.harness.repairs import no_rewrite

DENIED = TableError("hive.refused", "Permission denied")


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


def state(service: Service) -> Snapshot:
    return look(service.wiring.ports.files, service.wiring.paths(TABLE)).state


def refusing(unregistered: frozenset[HivePartition]) -> RegistrationOutcome:
    """Hive refuses the first partition and takes the rest."""
    first = min(unregistered)
    return RegistrationOutcome(frozenset({first}), DENIED, {first: DENIED})


def recovered(service: Service, register: object, *named: Registration) -> RecoverResult:
    def no_kafka() -> KafkaAdmin:
        raise AssertionError("nobody asked for Kafka")

    def no_refetch(_tenure: OwnedLedger, _lost: DataFile) -> tuple[DataFile, ...]:
        raise AssertionError("nothing is lost")

    repairs = Repairs(service.wiring, no_kafka, no_refetch, no_rewrite)
    return recover(service.wiring, RecoverRequest(forget=named), register, repairs)  # type: ignore[arg-type]


def test_a_refused_registration_that_was_given_up_is_recorded_and_never_pending_again(
    service: Service,
) -> None:
    partition = min(state(service).unregistered)
    refused = recovered(service, refusing)
    assert refused.exit_code == 75 and state(service).unregistered == (partition,)
    given_up = recovered(service, refusing, Registration(partition.table, partition.path))
    (table,) = given_up.tables
    assert (given_up.exit_code, table.forgotten, table.unregistered) == (0, (partition,), 0)
    (recorded,) = state(service).forgotten
    assert (recorded.partition, recorded.reason, recorded.epoch) == (
        partition,
        "Permission denied",
        state(service).epoch,
    )
    assert recorded.accepted_by == state(service).owner and state(service).unregistered == ()
    owned = OwnedLedger(
        service.wiring.paths(TABLE),
        look(service.wiring.ports.files, service.wiring.paths(TABLE)).generation,
        replace(state(service), unregistered=(partition,)),
    )
    assert draft(owned, "s", "now", RegistrationUpdate()).unregistered == ()
    again = recovered(service, refusing, Registration(partition.table, partition.path))
    assert again.exit_code == 0 and len(state(service).forgotten) == 1


def test_only_what_hive_refuses_can_be_given_up(service: Service) -> None:
    partition = min(state(service).unregistered)
    named = Registration(partition.table, partition.path)
    away = recovered(service, RegistrationOutcome, named)
    (table,) = away.tables
    assert away.exit_code == 69 and table.error is not None and table.error.code == "hive.not_refused"
    assert state(service).forgotten == () and partition in state(service).unregistered
    taken = recovered(service, lambda _unregistered: RegistrationOutcome(), named)
    assert taken.exit_code == 0 and state(service).forgotten == ()


def test_a_refusal_of_the_whole_table_gives_no_registration_up(service: Service) -> None:
    partition = min(state(service).unregistered)
    other = TableError("hive.columns", "another table")
    result = recovered(
        service,
        lambda unregistered: RegistrationOutcome(unregistered, other),
        Registration(partition.table, partition.path),
    )
    assert result.tables[0].error is other and state(service).forgotten == ()


def test_a_registration_that_nobody_owes_is_a_typing_mistake_and_touches_nothing(service: Service) -> None:
    partition = min(state(service).unregistered)
    before = look(service.wiring.ports.files, service.wiring.paths(TABLE)).generation
    with pytest.raises(ConfigError, match=f"did you mean {partition.path}") as wrong:
        recovered(service, refusing, Registration(partition.table, partition.path + "x"))
    assert wrong.value.code == "usage.no_such_registration"
    assert look(service.wiring.ports.files, service.wiring.paths(TABLE)).generation == before


class Hive(OneByOne):
    """Registers nothing; `refused` is asked for in vain, `late` is there at the second question."""

    def __init__(self, there: dict[HivePartition, str], late: Sequence[HivePartition] = ()) -> None:
        self.there = there
        self.late = list(late)
        self.missing_table = False

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        raise AssertionError("verify only reads")

    def location(self, partition: HivePartition) -> str | None:
        if self.missing_table:
            raise MetastoreRefused("no such table")
        if partition in self.late:
            self.late.remove(partition)
            return None
        return self.there.get(partition)


class Clock:
    """Counts the seconds slept."""

    def __init__(self, real: object) -> None:
        self._real = real
        self.slept = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


def verified(service: Service, hive: Hive) -> tuple[VerifyResult, float]:
    clock = Clock(service.wiring.ports.clock)
    ports = replace(service.wiring.ports, clock=clock)  # type: ignore[arg-type]  # the rest is the real one's
    wiring: Wiring = replace(service.wiring, ports=ports)
    return verify(wiring, VerifyRequest(), None, hive), clock.slept


def test_verify_finds_what_stays_pending_and_accepts_what_was_given_up(service: Service) -> None:
    unregistered = state(service).unregistered
    recovered(service, lambda pending: RegistrationOutcome(pending))
    there = {partition: partition.location for partition in unregistered}
    assert verified(service, Hive(there)) == (verified(service, Hive(there))[0], 0.0)

    fresh, slept = verified(service, Hive(there, late=unregistered[:1]))
    assert fresh.exit_code == 0 and slept > 10, "a live run registers it in this moment"

    hive = Hive({partition: where for partition, where in there.items() if partition != unregistered[0]})
    pending, _ = verified(service, hive)
    assert pending.exit_code == 76
    assert [(f.code, f.where) for f in pending.tables[0].findings] == [
        ("verify.unregistered", f"{unregistered[0].table} {unregistered[0].path}")
    ]
    elsewhere, _ = verified(service, Hive({**there, unregistered[0]: "file:///elsewhere"}))
    assert {f.code for f in elsewhere.tables[0].findings} == {"verify.unregistered"}
    hive.missing_table = True
    assert verified(service, hive)[0].exit_code == 76

    recovered(service, refusing, Registration(unregistered[0].table, unregistered[0].path))
    accepted, _ = verified(
        service,
        Hive({partition: where for partition, where in there.items() if partition != unregistered[0]}),
    )
    assert accepted.exit_code == 0
    (line,) = accepted.tables[0].accepted
    assert unregistered[0].path in line and "Permission denied" in line

"""`recover` with the real Hive and Kafka of the map, each made only when there is something for it to do.

No Spark and no JVM; pyarrow only with `--refetch`, which decodes and writes records in this very process.
"""

import logging
import time
from collections.abc import Collection
from functools import cached_property

from kafka2hive.config.route import route
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.look import look
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.ledger.tenure import Tenure
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.pipeline.values import TaskSettings
from kafka2hive.service.catalogue import Catalogue
from kafka2hive.service.ledgers import ledger_tables
from kafka2hive.service.recover import Payment, RecoverOrder, RecoverResult, recover
from kafka2hive.service.refetch import refetch_file
from kafka2hive.service.registrar import Registrar
from kafka2hive.service.repair import Repairs
from kafka2hive.service.settings import task_settings
from kafka2hive.service.table import Table
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)


def recover_service(wiring: Wiring, order: RecoverOrder) -> RecoverResult:
    """Recover the map's service. Raises ServiceUnavailable when the file system does not answer at all."""
    outside = _Outside(wiring)
    repairs = Repairs(wiring, lambda: KafkaAdmin(wiring.map.kafka), outside.refetch)
    return recover(wiring, order, outside.pay, repairs)


class _Outside:
    """Hive, and the map's rule for each table; nothing is asked or connected before it is needed."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._metastore = HiveMetastore(wiring.map.hive) if wiring.map.hive else None
        self._catalogue = Catalogue(wiring.map, self._metastore)

    def pay(self, debts: frozenset[HivePartition]) -> Payment:
        """Register partitions now; those of a table whose schema cannot be had stay debts."""
        if self._metastore is None:
            return Payment(debts)
        payable = frozenset(d for d in debts if d.table in self._resolvable({d.table for d in debts}))
        refusals: list[TableError] = []
        registrar = Registrar(
            self._metastore,
            self._catalogue.ensure,
            paid=lambda paid: log.info("registered %d partitions in Hive", len(paid)),
            refused=lambda _table, error: refusals.append(error),
        )
        left = registrar.pay(payable)
        return Payment(left | (debts - payable), refusals[0] if refusals else None)

    def refetch(self, tenure: Tenure, lost: DataFile) -> tuple[DataFile, ...]:
        """See refetch_file."""
        return refetch_file(tenure, lost, self._settings, int(time.time() * 1000))

    def _settings(self, name: str) -> TaskSettings:
        table = self._tables.get(name)
        if table is None:
            raise ConfigError("refetch.no_rule", f"{name} is no table of the map: its columns are not known")
        self._catalogue.resolve(table)
        assert table.settings is not None
        return task_settings(self._wiring.map, {name: table.settings})

    def _resolvable(self, names: Collection[str]) -> set[str]:
        """Those of the tables that Hive can be told about: also tables the map knows no more, they must exist."""
        ready = set(names)
        for name in sorted(ready & set(self._tables)):
            try:
                self._catalogue.resolve(self._tables[name])
            except (ServiceUnavailable, TableError) as error:
                log.warning("%s keeps its debts: %s", name, error)
                ready.discard(name)
        return ready

    @cached_property
    def _tables(self) -> dict[str, Table]:
        """The map's tables by name; the topics are those that its ledgers have positions of."""
        topics: set[str] = set()
        for paths in ledger_tables(self._wiring):
            try:
                state = look(self._wiring.ports.files, paths).state
            except (NoLedger, Kafka2HiveError) as error:
                log.debug("%s: %s", paths.table, error)
                continue
            topics |= {position.topic_partition.topic for position in state.positions}
        whole = self._wiring.map
        routing = route(whole.tables, topics, frozenset({whole.dead_letters.table}))
        return {
            name: Table(routed.rule, self._wiring.paths(name), routed.topics, routed.rule.location)
            for name, routed in routing.tables.items()
        }

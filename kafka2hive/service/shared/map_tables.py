"""The map's tables without a run: what a command must know to decode a table's records again."""

import logging
from functools import cached_property

from kafka2hive.config.route import route
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.ledger.reading.look import look
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import ConfigError, Kafka2HiveError
from kafka2hive.pipeline.values import TaskSettings
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.ledgers import ledger_tables
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.task_settings import task_settings
from kafka2hive.service.shared.wiring import Wiring

log = logging.getLogger(__name__)


class MapTables:
    """Resolves tables on demand; Hive is asked only for a table whose columns are not in the map."""

    def __init__(self, wiring: Wiring, metastore: HiveMetastore | None) -> None:
        self._wiring = wiring
        self.catalogue = Catalogue(wiring.map, metastore)

    def settings(self, name: str) -> TaskSettings:
        """What a task must know of one table. Raises ConfigError (not in the map), TableError, ServiceUnavailable."""
        table = self.by_name.get(name)
        if table is None:
            raise ConfigError("refetch.no_rule", f"{name} is no table of the map: its columns are not known")
        self.catalogue.resolve(table)
        assert table.settings is not None
        return task_settings(self._wiring.map, {name: table.settings})

    @cached_property
    def by_name(self) -> dict[str, Table]:
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

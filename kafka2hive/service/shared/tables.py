"""The map's rules and Kafka's topics as tables of the run."""

import logging
from collections.abc import Collection

from kafka2hive.config.route import route
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.wiring import Wiring

log = logging.getLogger(__name__)


def routed_tables(wiring: Wiring, topics: Collection[str]) -> list[Table]:
    """One Table per concrete table, in the order of the map; conflicts are logged, nothing flows there."""
    routing = route(wiring.map.tables, topics, frozenset({wiring.map.dead_letters.table}))
    for conflict in routing.conflicts:
        log.error("topic %s goes nowhere (map line %d): %s", conflict.topic, conflict.line, conflict.message)
    for name, routed in routing.tables.items():
        for topic in routed.missing:
            log.warning("%s: topic %s does not exist (yet)", name, topic)
    return [
        Table(routed.rule, wiring.paths(name), routed.topics, routed.rule.location, missing=routed.missing)
        for name, routed in routing.tables.items()
    ]

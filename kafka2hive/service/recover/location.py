"""Where the map puts a table that has a ledger; asks nobody but the ledger."""

from kafka2hive.config.route import route
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.shared.wiring import Wiring


def location_in_map(wiring: Wiring, state: Snapshot) -> str | None:
    """The table's location by the map, None when no rule makes the table of the topics that it has read."""
    topics = {position.topic_partition.topic for position in state.positions}
    whole = wiring.map
    routed = route(whole.tables, topics, frozenset({whole.dead_letters.table})).tables.get(state.table)
    return routed.rule.location if routed else None

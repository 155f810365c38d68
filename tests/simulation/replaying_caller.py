"""Processes of a table whose letters come back: runs that take orders, and `dead-letters replay`."""

from dataclasses import replace
from typing import Any

from tests.simulation.chore_caller import table_rule
from tests.simulation.order_caller import OrderCaller
from tests.simulation.replay_command import ReplayCommand

VERSIONS = (0, 0, 0, 0, 0, 1)
ZONES = ("UTC", "Asia/Tokyo")
"""The versions of the map, and their time zones, by which versions differ and nothing else does."""


class ReplayingCaller(OrderCaller):
    """An OrderCaller that owns a table with any version of the map. Orders may wait for each other."""

    epochs_per_order = 3

    def __init__(self, *arguments: Any) -> None:
        self.version = VERSIONS[arguments[0].below(len(VERSIONS))]
        rule = table_rule()
        zoned = replace(rule.bucketing, zone=ZONES[self.version])
        once = arguments[0].below(2) == 0
        super().__init__(*arguments, rule=replace(rule, bucketing=zoned), once=once)

    def _may_replay(self) -> bool:
        return True


class ReplayingCommand(ReplayCommand, ReplayingCaller):
    """A process of `dead-letters replay` with any version of the map."""

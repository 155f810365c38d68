"""Processes of a table whose partitions expire: runs, and `retain`. Production's chore decides what is dropped and deleted."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kafka2hive.service.retention.command import _drop
from tests.simulation.chore_caller import CommandEnded, table_rule
from tests.simulation.order_caller import OrderCaller
from tests.simulation.places import DEAD_LETTER_TABLE
from tests.simulation.replay_command import ReplayCommand
from tests.simulation.topic import DAY_MS, DAYS_APART, LETTERS_DAYS

RETAINS = (0, 3 * DAYS_APART, LETTERS_DAYS + 5 * DAYS_APART, 3 * LETTERS_DAYS)
"""The `retain` of the processes' maps in days."""


class RetainingCaller(OrderCaller):
    """An OrderCaller with any `retain` in its map, and perhaps without Hive."""

    def __init__(self, *arguments: Any) -> None:
        world = arguments[0]
        has_hive = world.below(100) >= world.without_hive if world.without_hive else True
        days = RETAINS[world.below(len(RETAINS))]
        self.version = days
        super().__init__(
            *arguments, rule=replace(table_rule(), retain=days * DAY_MS / 1000), has_hive=has_hive
        )

    def _may_replay(self) -> bool:
        dropped = any(line.partition.table == DEAD_LETTER_TABLE for line in self.owned.state.dropped)
        return super()._may_replay() and (dropped or not self.world.replays_late)


class RetainingReplayCommand(ReplayCommand, RetainingCaller):
    """A process of `dead-letters replay`. If letters are not replayed now, it is a run."""

    def epoch(self) -> None:
        if self._may_replay():
            super().epoch()
        else:
            RetainingCaller.epoch(self)


class RetainCommand(RetainingCaller):
    """A process of `retain`: it takes the table over, does with production's loop what it can do, and ends."""

    def serve(self) -> None:
        with suppress(CommandEnded):
            super().serve()

    def epoch(self) -> None:
        self.stepped_at = self.world.now
        with self.wiring.progress.work("retain") as advance:
            metastore = self.metastore if self.has_hive else None
            _drop(self.wiring, metastore, self.table.rule, self.owned, advance)
        self.world.count["commands that retain"] += 1
        raise CommandEnded

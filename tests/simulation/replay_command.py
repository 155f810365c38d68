"""A process of `dead-letters replay`, with the loop of production's command and simulated tasks."""

from contextlib import suppress
from types import FunctionType, SimpleNamespace
from typing import Any, cast

from kafka2hive.ledger.inbox import ReplayLetters
from kafka2hive.ledger.snapshot.change import Change
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.plan.contract import TableManifest, TaskPlan
from kafka2hive.service.chores.command_owner import CommandOwner
from kafka2hive.service.orders.delivery import order_of_user
from kafka2hive.service.replay import command
from kafka2hive.service.replay.command import ReplayResult, _carry_out, _HiveComparison
from kafka2hive.service.replay.letter_files import rules_digest
from tests.simulation.chore_caller import CommandEnded
from tests.simulation.operators import Replayed
from tests.simulation.order_caller import OrderCaller
from tests.simulation.places import DEAD_LETTER_TABLE, TABLE


class ReplayCommand(OrderCaller):
    """A process of `dead-letters replay`: it takes the table over, does what production's command does, and ends."""

    def serve(self) -> None:
        with suppress(CommandEnded):
            super().serve()

    def epoch(self) -> None:
        rules = rules_digest(self.table.rule, self.wiring.map)
        order = order_of_user(self.wiring, TABLE, ReplayLetters("", "", rules))
        in_hive = SimpleNamespace(
            compare=lambda tables: self.compared(), compare_partitions=lambda each: None
        )
        comparison = _HiveComparison(cast(Any, in_hive), (TABLE, DEAD_LETTER_TABLE))

        def prepare(change: Change) -> Change:
            self.note_rows(owner.table.owned.ledger)
            return comparison.prepare(change)

        owner = CommandOwner(self.ports, self.table.rule, self.owned, prepare)
        self.world.orders.commands.add(self.owned.generation.number)
        result = ReplayResult()
        try:
            self._with_simulated_tasks(_carry_out)(
                wiring=self.wiring, owner=owner, order=order, settings=None, result=result
            )
        except ServiceUnavailable as error:
            self.world.tell(self.name, f"the command ends: {error.message}")
            raise CommandEnded from error
        self.world.count["commands that replay"] += 1
        self.world.count["files replayed by a command"] += result.files
        account = result.account
        counts = (account.read, account.written, account.filtered, account.dead_lettered)
        self.world.orders.results[self.owned.generation.number] = Replayed(
            result.files, *counts, tuple(result.epochs)
        )
        raise CommandEnded

    def _with_simulated_tasks(self, function: Any) -> Any:
        """Return the command's loop, production's own code, with the tasks of this process instead of decoders of Parquet."""
        assert "_run_here" in function.__code__.co_names and "_run_here" in vars(command)

        def run(plan: TaskPlan, settings: object, files: object) -> list[TableManifest]:
            return [self.decode(plan.index, task) for task in plan.tables]

        simulated = FunctionType(function.__code__, {**function.__globals__, "_run_here": run})
        simulated.__kwdefaults__ = function.__kwdefaults__
        return simulated

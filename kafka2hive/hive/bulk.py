"""Requests to Hive about many partitions: in groups, which are halved if Hive refuses them, or for one partition at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, NoSuchTable, StatementFailed

Answer = TypeVar("Answer")


def in_groups(
    partitions: Iterable[HivePartition],
    size: int,
    ask: Callable[[Sequence[HivePartition]], Mapping[HivePartition, Answer]],
) -> Iterator[tuple[HivePartition, Answer | MetastoreRefused]]:
    """Ask for at most `size` partitions of one table at a time, in order, and yield their answers.

    `ask` answers about all its partitions, or raises. If a request about several is refused, or fails, each half is asked for,
    until each bad partition is alone; a table that does not exist is not asked for again.
    Raises what `ask` raises, but not MetastoreRefused; StatementFailed about one partition only after the others' answers.
    """
    failure: StatementFailed | None = None
    ordered = sorted(set(partitions))
    for _, of_table in groupby(ordered, key=lambda partition: partition.table):
        group = list(of_table)
        waiting = [group[start : start + size] for start in reversed(range(0, len(group), size))]
        while waiting:
            group = waiting.pop()
            try:
                answers = ask(group)
            except NoSuchTable as error:
                yield from ((partition, error) for partition in group)
            except (MetastoreRefused, StatementFailed) as error:
                if len(group) > 1:
                    waiting += [group[len(group) // 2 :], group[: len(group) // 2]]
                elif isinstance(error, StatementFailed):
                    failure = failure or error
                else:
                    yield group[0], error
            else:
                yield from answers.items()
    if failure is not None:
        raise failure


def one_by_one(
    partitions: Iterable[HivePartition], ask: Callable[[HivePartition], Answer]
) -> Iterator[tuple[HivePartition, Answer | MetastoreRefused]]:
    """Ask for one partition at a time, in the given order, and yield the answers. Raises as `in_groups`."""
    failure: StatementFailed | None = None
    for partition in partitions:
        try:
            yield partition, ask(partition)
        except MetastoreRefused as error:
            yield partition, error
        except StatementFailed as error:
            failure = failure or error
    if failure is not None:
        raise failure

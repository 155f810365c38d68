"""Which columns a writer's schema fills with times finer than a microsecond."""

from collections.abc import Iterator

from kafka2hive.pipeline.decode.avro import plan
from kafka2hive.pipeline.decode.registered.finer import Written


def finer_times(planned: plan.Plan) -> dict[int, Written]:
    """By the columns' numbers; a column that several branches fill is one only where all of them are alike."""
    found: dict[int, set[Written | None]] = {}
    for number, value in _filled(planned.root):
        for branch in value.branches if isinstance(value, plan.Choice) else (value,):
            if not isinstance(branch, plan.Null | plan.Unfit):
                found.setdefault(number, set()).add(_written(branch))
    alike = {number: written.pop() for number, written in found.items() if len(written) == 1}
    return {number: written for number, written in alike.items() if written is not None}


def _filled(way: plan.Way) -> Iterator[tuple[int, plan.Value]]:
    match way:
        case plan.Level(targets):
            for target in targets:
                yield from target.columns
                if target.inner is not None:
                    yield from _filled(target.inner)
        case plan.Fork(branches):
            for branch in branches:
                yield from _filled(branch)


def _written(value: plan.Value) -> Written | None:
    if not isinstance(value, plan.Moment) or value.divisor == 1:
        return None
    return Written.INSTANT if value.instant else Written.WALL_CLOCK

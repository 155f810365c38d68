"""Which columns a message type fills with times finer than a microsecond."""

from collections.abc import Iterator

from kafka2hive.pipeline.decode.epochs import UNITS
from kafka2hive.pipeline.decode.protobuf import plan
from kafka2hive.pipeline.decode.registered.finer import Written


def finer_times(planned: plan.Plan) -> dict[int, Written]:
    """By the columns' numbers."""
    found = {number: _written(value) for number, value in _filled(planned.root)}
    return {number: written for number, written in found.items() if written is not None}


def _filled(level: plan.Level) -> Iterator[tuple[int, plan.Value | plan.Entry]]:
    for slot in level.slots:
        yield from slot.columns
        if slot.inner is not None:
            yield from _filled(slot.inner)


def _written(value: plan.Value | plan.Entry) -> Written | None:
    match value:
        case plan.Stamp():
            return Written.STAMP
        case plan.Moment(_, _, divisor) if divisor > 1:
            return Written.INSTANT
        case plan.Moment(_, factor, divisor) if (factor, divisor) == UNITS["d"]:
            return Written.DAYS
        case plan.Wrapped(inner):
            return _written(inner)
    return None

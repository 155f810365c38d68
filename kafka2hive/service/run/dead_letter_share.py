"""Whether an epoch has too many dead letters to be committed. Pure."""

from collections.abc import Sequence

from kafka2hive.model.errors import TableError
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import OffsetRange, first_ranges
from kafka2hive.pipeline.values import Refusal, TableManifest

FLOOR_RECORDS = 100
"""An epoch that read fewer records says too little of a share: one bad record of three is no wrong map."""

SHOWN = 3


def check_dead_letters(
    table: str,
    planned: Sequence[OffsetRange],
    total: OffsetAccounting,
    manifests: Sequence[TableManifest],
    share: float,
) -> None:
    """Raises TableError (`dead_letters.too_many`). With a share of 0 not one dead letter passes, in any epoch."""
    if total.dead_lettered <= share * total.read or (share > 0 and total.read < FLOOR_RECORDS):
        return
    reasons = "; ".join(_text(one, total.dead_lettered) for one in frequent(manifests)[:SHOWN])
    raise TableError(
        "dead_letters.too_many",
        f"{table}: {total.dead_lettered} of {total.read} records of {first_ranges(planned)} cannot be decoded or bucketed,"
        f" more than the map's dead_letter_share {share}. Most frequent: {reasons or 'unknown'}",
        "correct the columns or the producer, or raise dead_letter_share; nothing was committed",
    )


def frequent(manifests: Sequence[TableManifest]) -> list[Refusal]:
    """The reasons of all tasks, the most frequent first."""
    found: dict[tuple[str, str], Refusal] = {}
    for one in (refusal for manifest in manifests for refusal in manifest.refusals):
        known = found.get((one.code, one.column))
        found[one.code, one.column] = one if known is None else known.more(one.count)
    return sorted(found.values(), key=lambda one: (-one.count, one.code, one.column))


def _text(one: Refusal, of: int) -> str:
    column = f" in column {one.column}" if one.column else ""
    return f"{one.count} of {of} {one.code}{column}, e.g. {one.topic_partition}@{one.offset} ({one.detail})"

"""Dead letters of which the map would make rows today, because it has changed: they are not replayed yet. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.service.verify.rows import Indices
from kafka2hive.service.verify.units import Unit


@dataclass(frozen=True, slots=True)
class AcceptedLetters:
    """The places of dead letters that the map accepts now. `rows` counts their rows if rows have no places."""

    letters: Indices
    rows: int = 0


def accepted_letters(
    unit: Unit,
    accounts: Sequence[RangeAccounting],
    letters: Indices,
    rows: Iterable[Indices] | None,
    data_rows: int,
) -> AcceptedLetters:
    """Return those of the `letters`, which are none when their records are decoded again, that the map accepts now.

    `accounts` are those of the decoding. `rows` has the places of rows that are missing from the task's files, or are compared
    elsewhere; None if rows have no places, and then `data_rows` counts those in all of the task's files. A letter with such a
    row is accepted. Other letters are filtered now, or their records are gone from Kafka: the accounts tell how many are
    filtered.
    """
    if not len(letters):
        return AcceptedLetters(letters)
    pairs = [(unit.accounts.get(a.range), a.account) for a in accounts]
    then = sum((before for before, _ in pairs if before is not None), OffsetAccounting())
    now = sum((after for before, after in pairs if before is not None), OffsetAccounting())
    filtered = now.filtered + now.tombstones - then.filtered - then.tombstones
    if rows is None:
        more = now.written - then.written + max(0, filtered)
        accepted = letters if len(letters) <= more else letters[:0]
        return AcceptedLetters(accepted, max(0, now.rows - data_rows) if len(accepted) else 0)
    with_rows = np.intersect1d(letters, np.concatenate([np.zeros(0, np.int64), *rows]))
    others = np.setdiff1d(letters, with_rows)
    return AcceptedLetters(letters if len(others) <= max(0, filtered) else with_rows)

"""Dead letters that the map accepts now, as far as accounts and places tell."""

import numpy as np
import pytest

from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.service.verify.letters import accepted_letters
from kafka2hive.service.verify.units import Unit
from tests.harness.task_files import offsets

WHOLE = offsets("t", 0, 0, 10)
THEN = OffsetAccounting(read=10, written=6, dead_lettered=4)


def unit() -> Unit:
    return Unit(1, 0, {WHOLE: THEN}, {WHOLE.topic_partition: "id"})


def accepted(now: OffsetAccounting, letters: list[int], rows: list[int] | None) -> tuple[list[int], int]:
    answer = accepted_letters(
        unit=unit(),
        accounts=[RangeAccounting(0, WHOLE, now)],
        letters=np.array(letters, np.int64),
        rows=None if rows is None else [np.array(rows, np.int64)],
        data_rows=THEN.written,
    )
    return answer.letters.tolist(), answer.rows


def test_a_letter_whose_row_is_missing_is_accepted_and_another_one_is_not() -> None:
    now = OffsetAccounting(read=10, written=7, dead_lettered=3)
    assert accepted(now, [3], [3, 8]) == ([3], 0)
    assert accepted(now, [3, 4], [3]) == ([3], 0)  # 4 was never a record


def test_a_letter_that_the_map_filters_now_is_accepted() -> None:
    now = OffsetAccounting(read=10, written=7, filtered=1, dead_lettered=2)
    assert accepted(now, [3, 4], [3]) == ([3, 4], 0)


@pytest.mark.parametrize(("written", "letters", "rows"), [(8, [3, 4], 2), (7, [], 0)])
def test_without_places_the_accounts_say_how_many_letters_became_rows(
    written: int, letters: list[int], rows: int
) -> None:
    now = OffsetAccounting(read=10, written=written, dead_lettered=10 - written)
    assert accepted(now, [3, 4], None) == (letters, rows)

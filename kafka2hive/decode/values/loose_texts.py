"""Columns of strings, as CSV has them, in other forms than their column's type.

Arrow's kernels replace words for booleans and the marks of numbers in a whole column; strings that the column then refuses are
read again one by one, because they are rarely whole numbers with a point, NaN, or times beyond all years.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode.contract.spec import BOOLEANS, NUMBERS, QUOTED, Changes
from kafka2hive.decode.values.batch import mask_of
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.loose import loose, loose_forms, marked_number
from kafka2hive.decode.values.scalars import taker
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.plugins import Reason

_NO_NUMBER = "?"
"""Stands for a string without the marks of the column's numbers."""


def takes_other_forms(leeway: Leeway) -> bool:
    """Return whether strings may have other forms than the column's type."""
    refuse = ("refuse", "refuse", "refuse", None, None)
    return (leeway.whole, leeway.non_finite, leeway.beyond, leeway.booleans, leeway.numbers) != refuse


class LooseTexts:
    """Converts strings to a column that takes other forms."""

    def __init__(
        self, column: TextColumn, zone: str, unit: str | None, leeway: Leeway, changes: Changes
    ) -> None:
        self._column, self._changes = column, changes
        forms = loose_forms(column.dtype, leeway, None)
        self._words, self._marks = forms.booleans, forms.numbers
        self._counted = Changes()
        one_by_one = Leeway(
            quoted="accept", whole=forms.whole, non_finite=forms.non_finite, beyond=forms.beyond
        )
        self._take = loose(
            taker(column.dtype, zone, unit=unit),
            column.dtype,
            zone=zone,
            unit=unit,
            leeway=one_by_one,
            changes=self._counted,
        )
        self._has_rest = (forms.whole, forms.non_finite, forms.beyond) != ("refuse", "refuse", "refuse")

    def read(self, texts: pa.StringArray) -> tuple[pa.Array, dict[int, Reason]]:
        """See TextColumn.read."""
        texts = self._without_marks(self._without_words(texts))
        column, refusals = self._column.read(texts)
        if not refusals or not self._has_rest:
            return column, refusals
        values, places, refused = [], [], {}
        for place, reason in refusals.items():
            try:
                values.append(self._take(texts[place].as_py(), ""))
                places.append(place)
            except ValueRefusal:
                refused[place] = reason
        for kind, count in self._counted.take():
            if kind != QUOTED:
                self._changes.add(kind, count)
        where = np.arange(len(texts))
        where[places] = len(texts) + np.arange(len(places))
        column = pa.concat_arrays([column, pa.array(values, column.type)]).take(pa.array(where))
        return column, refused

    def _without_words(self, texts: pa.StringArray) -> pa.StringArray:
        """Replace the words for true and false by these."""
        if self._words is None:
            return texts
        for word, others in (("true", self._words.true), ("false", self._words.false)):
            found = pc.is_in(texts, pa.array([other for other in others if other != word], pa.string()))
            self._changes.add(BOOLEANS, pc.sum(found).as_py() or 0)
            texts = pc.if_else(found, word, texts)
        return texts

    def _without_marks(self, texts: pa.StringArray) -> pa.StringArray:
        """Replace numbers with marks by numbers of JSON, and all other strings with digits by one that is no number."""
        if self._marks is None:
            return texts
        found = pc.match_substring_regex(texts, f"^(?:{marked_number(self._marks).pattern})$")
        plain = texts
        if self._marks.thousands:
            plain = pc.replace_substring(plain, self._marks.thousands, "")
        plain = pc.replace_substring(plain, self._marks.decimal, ".")
        changed = mask_of(pc.and_(found, pc.not_equal(plain, texts)))
        self._changes.add(NUMBERS, int(changed.sum()))
        other = pc.if_else(pc.match_substring_regex(texts, "[0-9]"), _NO_NUMBER, texts)
        return pc.if_else(found, plain, other)

"""Columns of strings, as CSV, headers and writers' schemas have them, in other forms than their column's type.

Arrow's kernels replace words for booleans and the marks of numbers in a whole column; strings that the column then refuses are
read again one by one, because they are rarely whole numbers with a point, NaN, or times beyond all years.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.leeway import BooleanWords, Leeway, NumberMarks
from kafka2hive.decode.contract.spec import BOOLEANS, EMPTY, NUMBERS, QUOTED, Changes
from kafka2hive.decode.values.batch import Mask, mask_of
from kafka2hive.decode.values.json_values import Take, ValueRefusal
from kafka2hive.decode.values.loose import loose, loose_forms, marked_number
from kafka2hive.decode.values.scalars import taker
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.plugins import Reason

_NO_NUMBER = "?"
"""Stands for a string without the marks of the column's numbers."""


def takes_other_forms(leeway: Leeway) -> bool:
    """Return whether strings may have other forms than the column's type."""
    refuse = ("refuse", "refuse", "refuse", "refuse", None, None)
    keys = (leeway.empty, leeway.whole, leeway.non_finite, leeway.beyond, leeway.booleans, leeway.numbers)
    return keys != refuse


class LooseTexts:
    """Converts strings to a column that takes other forms. A string may stand for a number or a boolean of JSON."""

    def __init__(
        self, column: TextColumn, zone: str, unit: str | None, leeway: Leeway, changes: Changes
    ) -> None:
        self._column, self._changes, self._is_empty_null = column, changes, leeway.empty == "null"
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
        if self._is_empty_null:
            texts = _without_empty(texts, self._changes)
        texts = self._without_marks(self._without_words(texts))
        column, refusals = self._column.read(texts)
        if not refusals or not self._has_rest:
            return column, refusals
        column, refused = _read_again(
            self._column, texts=texts, column=column, refusals=refusals, take=self._take
        )
        for kind, count in self._counted.take():
            if kind != QUOTED:
                self._changes.add(kind, count)
        return column, refused

    def read_bytes(self, values: pa.BinaryArray) -> tuple[pa.Array, dict[int, Reason]]:
        """See TextColumn.read_bytes."""
        return self._column.read_bytes(values, self.read)

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
        found, plain = _by_marks(texts, self._marks)
        changed = mask_of(pc.and_(found, pc.not_equal(plain, texts)))
        self._changes.add(NUMBERS, int(changed.sum()))
        other = pc.if_else(pc.match_substring_regex(texts, "[0-9]"), _NO_NUMBER, texts)
        return pc.if_else(found, plain, other)


class SchemaTexts:
    """Converts the strings of a schema to a column that takes them by its keys, as it takes strings of JSON."""

    def __init__(
        self, column: TextColumn, zone: str, unit: str | None, leeway: Leeway, changes: Changes
    ) -> None:
        self._column, self._leeway, self._changes = column, leeway, changes
        rest = (leeway.whole, leeway.non_finite, leeway.beyond)
        self._has_rest = rest != ("refuse", "refuse", "refuse")
        self._take = loose(
            taker(column.dtype, zone, unit=unit),
            column.dtype,
            zone=zone,
            unit=unit,
            leeway=leeway,
            changes=changes,
        )

    def read(self, texts: pa.StringArray) -> tuple[pa.Array, dict[int, Reason]]:
        """See TextColumn.read."""
        if self._leeway.empty == "null":
            texts = _without_empty(texts, self._changes)
        valid = mask_of(texts.is_valid())
        plain, words = texts, np.zeros(len(texts), np.bool_)
        if self._leeway.booleans is not None:
            plain, words = self._by_words(texts, self._leeway.booleans)
        elif self._leeway.numbers is not None:
            found, marked = _by_marks(texts, self._leeway.numbers)
            plain = pc.if_else(found, marked, pc.if_else(pc.is_valid(texts), _NO_NUMBER, texts))
        column, refusals = self._column.read(plain)
        good = valid & ~words
        good[list(refusals)] = False
        if self._leeway.numbers is not None:
            self._changes.add(NUMBERS, int(good.sum()))
        elif self._leeway.quoted == "accept":
            self._changes.add(QUOTED, int(good.sum()))
        if not refusals or not self._has_rest:
            return column, refusals
        return _read_again(self._column, texts=texts, column=column, refusals=refusals, take=self._take)

    def _by_words(self, texts: pa.StringArray, words: BooleanWords) -> tuple[pa.StringArray, Mask]:
        """Return the strings with `true` and `false` for words, and the mask of these."""
        is_true = pc.is_in(texts, pa.array(words.true, pa.string()))
        is_false = pc.is_in(texts, pa.array(words.false, pa.string()))
        known = mask_of(pc.or_(is_true, is_false))
        self._changes.add(BOOLEANS, int(known.sum()))
        others = texts
        if self._leeway.quoted != "accept":
            others = pc.if_else(pc.is_valid(texts), _NO_NUMBER, texts)
        return pc.if_else(is_true, "true", pc.if_else(is_false, "false", others)), known


def _without_empty(texts: pa.StringArray, changes: Changes) -> pa.StringArray:
    """Replace empty strings by null."""
    empty = mask_of(pc.equal(pc.binary_length(texts), 0))
    changes.add(EMPTY, int(empty.sum()))
    return pc.if_else(pa.array(empty), pa.scalar(None, pa.string()), texts) if empty.any() else texts


def _by_marks(texts: pa.StringArray, marks: NumberMarks) -> tuple[pa.BooleanArray, pa.StringArray]:
    """Return whether each string is a number with these marks, and the strings as numbers of JSON."""
    found = pc.match_substring_regex(texts, f"^(?:{marked_number(marks).pattern})$")
    plain = pc.replace_substring(texts, marks.thousands, "") if marks.thousands else texts
    return found, pc.replace_substring(plain, marks.decimal, ".")


def _read_again(
    reader: TextColumn, texts: pa.StringArray, column: pa.Array, refusals: Mapping[int, Reason], take: Take
) -> tuple[pa.Array, dict[int, Reason]]:
    """Return the column with the values that `take` makes of refused strings, and the reasons against the others."""
    values, places, refused = [], [], {}
    for place, reason in refusals.items():
        text = texts[place].as_py()
        try:
            values.append(take(text, reader.label))
            places.append(place)
        except ValueRefusal as refusal:
            refused[place] = reader.reason(refusal, text) if refusal.code == "json.range" else reason
    where = np.arange(len(texts))
    where[places] = len(texts) + np.arange(len(places))
    column = pa.concat_arrays([column, pa.array(values, column.type)]).take(pa.array(where))
    return column, refused

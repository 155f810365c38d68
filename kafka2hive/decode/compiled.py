"""Read messages with the compiled library's decoders (native/), and the messages that they do not accept with the exact decoder.

The library accepts only what the acceptance table accepts, and never rejects a message.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode.contract.forms import (
    AsWritten,
    Each,
    ElementTexts,
    Epoch,
    Fields,
    Form,
    Mismatch,
    Unscaled,
)
from kafka2hive.decode.contract.sources import Characters, Source, SourceTree, Spelling, source_tree
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.values.batch import CArray, Mask, Places, decoder_result
from kafka2hive.decode.values.epochs import UNITS
from kafka2hive.decode.values.loose import loose_forms
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import NAIVE, wall_clock
from kafka2hive.plugins import Decoded, Reason

Finish = Callable[[pa.RecordBatch], tuple[pa.RecordBatch, Mapping[int, Reason]]]
"""Converts rows that a reader has read to rows of the table; also returns by row number the reasons against some of them."""


def in_turn(first: Finish, second: Finish) -> Finish:
    """Return the conversion that makes both, one after the other; the first one's reasons count."""

    def finish(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Mapping[int, Reason]]:
        rows, bad = first(rows)
        rows, more = second(rows)
        return rows, {**more, **bad}

    return finish


AT_ONCE = 5_000
"""Messages that the exact decoder reads before their values become Arrow columns."""

_log = logging.getLogger(__name__)


class NativeReader:
    """Reads messages with a decoder of the library."""

    def __init__(self, schema: pa.Schema, zone: str, native: Any) -> None:
        self._schema = schema
        self._zone = zone
        self._native = native

    def read(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, Mask]:
        """Return the rows of the accepted messages, and the mask of those messages.

        After a panic in the library this reader accepts no more messages.
        """
        if self._native is not None:
            if values.null_count:
                raise ValueError("messages are not null")
            try:
                accepted = np.frombuffer(self._native.read(values), dtype=np.bool_)
                return pa.record_batch(CArray(self._schema, self._native.rows(self._walls()))), accepted
            except RuntimeError as error:
                _log.error(
                    "%s; the exact decoder reads on, with the same outcome but slowly; please report this",
                    error,
                )
                self._native = None
        return pa.RecordBatch.from_pylist([], schema=self._schema), np.zeros(len(values), dtype=np.bool_)

    def changed(self) -> Iterable[tuple[str, int]]:
        """Return how many values leeway changed since the last call, by kind."""
        return () if self._native is None else self._native.changed()

    def _walls(self) -> bytes:
        """Return the wall clocks of the instants in the messages just read, as int64 microseconds in the order of reading."""
        instants = np.frombuffer(self._native.instants(), dtype=np.int64)
        if not len(instants):
            return b""
        walls = wall_clock(pa.array(instants).cast(pa.timestamp("us", tz="UTC")), self._zone)
        return bytes(walls.cast(pa.int64()).to_numpy().tobytes())


class NativeArrays:
    """Splits messages that are arrays of JSON objects with the library."""

    def __init__(self, library: Any, most: int) -> None:
        """`most`: the limit of elements of a message that the library splits."""
        self._library = library
        self._most = most

    def split(self, values: pa.BinaryArray) -> tuple[pa.BinaryArray, Places, Mask]:
        """Return the elements of the messages that are certainly right, each message's count (0 for others), and their mask.

        After a panic in the library no message is certain any more.
        """
        if self._library is not None:
            try:
                texts, counts = self._library.split_arrays(values, self._most)
            except RuntimeError as error:
                _log.error("%s; arrays are split on, but slowly; please report this", error)
                self._library = None
            else:
                numbers = pa.array(CArray(pa.int64(), counts)).to_numpy()
                return pa.array(CArray(pa.binary(), texts)), np.maximum(numbers, 0), numbers >= 0
        return pa.array([], pa.binary()), np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)


class NativeJsonReader(NativeReader):
    """Reads JSON with the library."""

    def __init__(
        self,
        library: Any,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        spelling: Spelling,
        any_case: bool,
    ) -> None:
        types = [_column_words(f.type, spelling, s) for f, s in zip(schema, sources, strict=True)]
        tree = _tree(source_tree(sources, spelling))
        super().__init__(schema, zone, library.Decoder(types, tree, any_case, zone == "UTC"))
        self._keys_seen = 0

    def new_keys(self) -> tuple[str, ...]:
        """Return the keys without a column that are new since the last call. The library remembers a few hundred keys."""
        if self._native is None:
            return ()
        keys, self._keys_seen = self._native.passed_keys(self._keys_seen)
        return tuple(keys)


_CHARACTERS: Mapping[Characters | None, object] = {
    Characters.TIMES: ("times", False),
    Characters.TIMES_AND_ARRAYS: ("times", True),
    Characters.NUMBERS: "number",
}


def _column_words(dtype: pa.DataType, spelling: Spelling, source: Source) -> object:
    leeway = source.leeway
    if leeway.json != "refuse":
        return {"text": "json", "canonical": "canonical"}[leeway.json]
    words = _CHARACTERS.get(source.characters) or type_words(dtype, spelling, source.unit, source.form)
    forms = _loose_words(loose_forms(dtype, leeway, source.form))
    return ("loose", words, forms) if forms else words


def _loose_words(leeway: Leeway) -> dict[str, object]:
    """Return the forms beyond those of the type in the words that the library reads (native/src/plan.rs)."""
    words: dict[str, object] = {}
    if leeway.quoted == "accept":
        words["quoted"] = True
    if leeway.empty == "null":
        words["empty"] = True
    if leeway.whole == "accept":
        words["whole"] = True
    if leeway.booleans is not None:
        words["booleans"] = (list(leeway.booleans.true), list(leeway.booleans.false))
    if leeway.numbers is not None:
        words["numbers"] = (leeway.numbers.thousands, leeway.numbers.decimal)
    if leeway.non_finite != "refuse":
        words["non_finite"] = leeway.non_finite == "keep"
    if leeway.beyond != "refuse":
        words["beyond"] = leeway.beyond == "clamp"
    return words


def type_words(
    dtype: pa.DataType, spelling: Spelling, unit: str | None = None, form: Form | None = None
) -> object:
    """Return the type, and how its values are written, in the words that the library reads (native/src/plan.rs)."""
    match form:
        case ElementTexts(non_finite):
            return ("array", "object with non-finite numbers" if non_finite else "object")
        case Mismatch():
            return ("never", type_words(dtype, spelling))
        case Unscaled(scale):
            return ("unscaled", dtype.precision, dtype.scale, scale)
        case Epoch():
            unit = form.unit
        case AsWritten():
            unit = None
    if unit is not None:
        return ("epoch", *UNITS[unit], dtype != NAIVE, unit != "d")
    if pa.types.is_decimal128(dtype):
        return ("decimal", dtype.precision, dtype.scale)
    each = form.form if isinstance(form, Each) else None
    if pa.types.is_list(dtype):
        return ("array", type_words(dtype.value_type, spelling, form=each))
    if pa.types.is_map(dtype):
        return ("map", type_words(dtype.item_type, spelling, form=each))
    if pa.types.is_struct(dtype):
        forms = dict(form.forms) if isinstance(form, Fields) else {}
        return (
            "struct",
            [(spelling(f.name), type_words(f.type, spelling, form=forms.get(f.name))) for f in dtype],
        )
    return hive_type_of(dtype)


def plan_words(node: object) -> object:
    """Return a plan in the form that the library reads: for each step a tuple of its kind and its fields.

    The kind is the name of the step's class without the format's name (native/src/avro/words.rs, protobuf/words.rs).
    """
    if isinstance(node, tuple):
        return tuple(map(plan_words, node))
    if is_dataclass(node):
        kind = type(node).__name__.removeprefix("Avro").removeprefix("Protobuf")
        return (kind, *(plan_words(getattr(node, field.name)) for field in fields(node)))
    return node


def _tree(node: SourceTree) -> tuple[list[int], list[tuple[str, object]]]:
    return node.columns, [(key, _tree(inner)) for key, inner in node.inner.items()]


@dataclass(frozen=True, slots=True)
class PartResult:
    """The outcome for some messages of a batch.

    `batches` together hold one row for each place in `accepted`, in that order. `refusals`: reasons by place.
    """

    batches: Sequence[pa.RecordBatch]
    accepted: Places
    refusals: Mapping[int, Reason]

    def with_finish(self, finish: Finish) -> "PartResult":
        """Return the result with the rows that `finish` returns, without those that it refuses."""
        batches, kept, refusals = [], np.ones(len(self.accepted), np.bool_), dict(self.refusals)
        start = 0
        for batch in self.batches:
            rows, bad = finish(batch)
            good = kept[start : start + len(rows)]
            good[list(bad)] = False
            refusals |= {int(self.accepted[start + row]): reason for row, reason in bad.items()}
            batches.append(rows if good.all() else rows.filter(pa.array(good)))
            start += len(rows)
        return PartResult(batches, self.accepted[kept], refusals)


def refusal_part(places: Places, reason: Reason | Sequence[Reason]) -> PartResult:
    """Return the result for messages that are all refused: for one reason, or for one reason each."""
    reasons = [reason] * len(places) if isinstance(reason, Reason) else reason
    return PartResult((), np.empty(0, np.int64), dict(zip(places.tolist(), reasons, strict=True)))


class PartReader:
    """Reads messages that are certainly right with the compiled library, and all others with the exact decoder."""

    def __init__(
        self,
        schema: pa.Schema,
        exact: Callable[[bytes], list[Any] | Reason],
        compiled: NativeReader | None,
        changes: Changes,
        finish: Finish | None = None,
    ) -> None:
        """`exact`: returns a message's values in the schema's order, or why it is refused. `compiled`: None without the library.

        `changes`: counts the values that the library changes. `finish`: converts rows of this schema to rows of the table, or
        refuses them.
        """
        self._changes = changes
        self._schema = schema
        self._exact = exact
        self._compiled = compiled
        self._finish = finish

    def read(self, values: pa.BinaryArray, places: Places) -> PartResult:
        """Read messages. `places`: their places in the whole batch."""
        part = self._read(values, places)
        return part if self._finish is None else part.with_finish(self._finish)

    def _read(self, values: pa.BinaryArray, places: Places) -> PartResult:
        if self._compiled is None:
            return self._exactly(values, places)
        rows, certain = self._compiled.read(values)
        for kind, count in self._compiled.changed():
            self._changes.add(kind, count)
        if certain.all():
            return PartResult([rows], places, {})
        doubtful = np.flatnonzero(~certain)
        rest = self._exactly(values.take(pa.array(doubtful)), places[doubtful])
        accepted = np.concatenate([places[certain], rest.accepted])
        return PartResult([rows, *rest.batches], accepted, rest.refusals)

    def _exactly(self, values: pa.BinaryArray, places: Places) -> PartResult:
        """Read with the exact decoder. Each batch holds AT_ONCE messages, because values as Python objects are large."""
        batches: list[pa.RecordBatch] = []
        accepted: list[int] = []
        refusals: dict[int, Reason] = {}
        for start in range(0, len(values), AT_ONCE):
            rows: list[list[Any]] = []
            some_places = places[start : start + AT_ONCE].tolist()
            for place, message in zip(some_places, values.slice(start, AT_ONCE).to_pylist(), strict=True):
                outcome = self._exact(message)
                if isinstance(outcome, Reason):
                    refusals[place] = outcome
                else:
                    accepted.append(place)
                    rows.append(outcome)
            if rows:
                columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(self._schema)]
                batches.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        return PartResult(batches, np.array(accepted, np.int64), refusals)


def join_parts(schema: pa.Schema, parts: Sequence[PartResult]) -> Decoded:
    """Join all parts of a batch in the order of the messages."""
    accepted = np.concatenate([np.empty(0, np.int64), *(part.accepted for part in parts)])
    refusals = {place: reason for part in parts for place, reason in part.refusals.items()}
    batches = [batch for part in parts for batch in part.batches]
    if len(batches) == 1:
        rows = batches[0]
    else:
        rows = pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema=schema)
    if len(accepted) and (np.diff(accepted) < 0).any():
        order = np.argsort(accepted, kind="stable")
        accepted, rows = accepted[order], rows.take(pa.array(order))
    return decoder_result(rows, accepted, refusals)

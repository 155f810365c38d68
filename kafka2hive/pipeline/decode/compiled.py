"""The compiled library's decoders (native/): they accept what the acceptance table accepts, in one walk over a message.

They only accept; every message that they leave is decoded by the exact decoder.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafka2hive.model.hive.types import hive_type_of
from kafka2hive.pipeline.decode.c_data import CArray
from kafka2hive.pipeline.decode.epochs import UNITS
from kafka2hive.pipeline.decode.sources import Source, SourceTree, Spelling, source_tree
from kafka2hive.pipeline.decode.tolerant_cast import Mask
from kafka2hive.pipeline.wall_clock import NAIVE, wall_clock

_log = logging.getLogger(__name__)


class NativeReader:
    """Reads what a decoder of the library accepts into the table's columns."""

    def __init__(self, schema: pa.Schema, zone: str, native: Any) -> None:
        self._schema = schema
        self._zone = zone
        self._native = native

    def read(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, Mask]:
        """Rows of the accepted messages, and their mask. After a panic in the library nothing is accepted any more."""
        if self._native is not None:
            if values.null_count:
                raise ValueError("messages are not null")
            try:
                accepted = np.frombuffer(self._native.read(values), dtype=np.bool_)
                return pa.record_batch(CArray(self._schema, self._native.rows(self._walls()))), accepted
            except RuntimeError as error:
                _log.error("%s: the exact decoder takes over, right but slow; please report this", error)
                self._native = None
        return pa.RecordBatch.from_pylist([], schema=self._schema), np.zeros(len(values), dtype=np.bool_)

    def _walls(self) -> bytes:
        instants = np.frombuffer(self._native.instants(), dtype=np.int64)
        if not len(instants):
            return b""
        walls = wall_clock(pa.array(instants).cast(pa.timestamp("us", tz="UTC")), self._zone)
        return bytes(walls.cast(pa.int64()).to_numpy().tobytes())


class CompiledReader(NativeReader):
    """Reads JSON."""

    def __init__(
        self,
        library: Any,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        spelling: Spelling,
        any_case: bool,
    ) -> None:
        types = [type_words(f.type, spelling, s.unit) for f, s in zip(schema, sources, strict=True)]
        tree = _tree(source_tree(sources, spelling))
        super().__init__(schema, zone, library.Decoder(types, tree, any_case, zone == "UTC"))
        self._met = 0

    def new_keys(self) -> tuple[str, ...]:
        """Of the first some hundred keys that messages had."""
        if self._native is None:
            return ()
        keys, self._met = self._native.passed_keys(self._met)
        return tuple(keys)


def type_words(dtype: pa.DataType, spelling: Spelling, unit: str | None = None) -> object:
    """A type in the library's words (native/src/plan.rs)."""
    if unit is not None:
        return ("epoch", *UNITS[unit], dtype != NAIVE)
    if pa.types.is_decimal128(dtype):
        return ("decimal", dtype.precision, dtype.scale)
    if pa.types.is_list(dtype):
        return ("array", type_words(dtype.value_type, spelling))
    if pa.types.is_map(dtype):
        return ("map", type_words(dtype.item_type, spelling))
    if pa.types.is_struct(dtype):
        return ("struct", [(spelling(field.name), type_words(field.type, spelling)) for field in dtype])
    return hive_type_of(dtype)


def _tree(node: SourceTree) -> tuple[list[int], list[tuple[str, object]]]:
    return node.columns, [(key, _tree(inner)) for key, inner in node.inner.items()]

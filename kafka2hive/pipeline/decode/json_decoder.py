"""Format `json`: the compiled library for what is plainly right, the exact decoder for every message in doubt."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kafka2hive.config.machine.native_library import LIBRARY
from kafka2hive.pipeline.decode.columns import check_columns
from kafka2hive.pipeline.decode.compiled import CompiledReader
from kafka2hive.pipeline.decode.epochs import zone_of
from kafka2hive.pipeline.decode.exact.decoder import ExactDecoder
from kafka2hive.pipeline.decode.parts import PartReader, together
from kafka2hive.pipeline.decode.protocol import Decoded
from kafka2hive.pipeline.decode.sources import Source, as_it_stands, in_small_letters, own_names


class JsonDecoder:
    """One JSON object a message, its values to the columns that take them, by docs/decoding.md."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source] = (),
        any_case: bool = False,
        library: Any = LIBRARY,
    ) -> None:
        """`sources`: where the columns' values stand; none given: each at its own name. `any_case`: of keys.

        `library`: the compiled one; None: the exact decoder alone.
        """
        check_columns("json", schema, zone)
        self.schema = schema
        sources = sources or own_names(schema.names)
        # the library takes every number for an instant: those of days are read by with_leeway
        assert all(zone_of(source.unit, zone) == zone for source in sources if source.unit is not None)
        spelling = in_small_letters if any_case else as_it_stands
        self._compiled = (
            None if library is None else CompiledReader(library, schema, zone, sources, spelling, any_case)
        )
        exact = ExactDecoder(schema, zone, sources, spelling)
        self._reader = PartReader(schema, exact.decode, self._compiled)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        decoded = together(self.schema, [self._reader.read(values, np.arange(len(values)))])
        return decoded if self._compiled is None else replace(decoded, new_keys=self._compiled.new_keys())

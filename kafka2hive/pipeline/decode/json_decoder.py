"""Format `json`: the compiled library for what is plainly right, the exact decoder for every message in doubt."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kafka2hive.config.machine.native_library import LIBRARY
from kafka2hive.pipeline.decode.columns import check_columns, of_named_columns
from kafka2hive.pipeline.decode.compiled import CompiledReader
from kafka2hive.pipeline.decode.epochs import zone_of
from kafka2hive.pipeline.decode.exact.decoder import ExactDecoder
from kafka2hive.pipeline.decode.leeway import with_leeway
from kafka2hive.pipeline.decode.parts import PartReader, together
from kafka2hive.pipeline.decode.protocol import Decoded, Decoder
from kafka2hive.pipeline.decode.rows.arrays import split_arrays
from kafka2hive.pipeline.decode.rows.decoder import SeveralRowsDecoder
from kafka2hive.pipeline.decode.rows.lines import split_lines
from kafka2hive.pipeline.decode.sources import as_it_stands, in_small_letters
from kafka2hive.pipeline.decode.spec import DecoderSpec


def make(spec: DecoderSpec) -> Decoder:
    """A message is an object, or with `rows` several of them."""
    one = of_named_columns(spec, _with_leeway)
    if spec.rows == "one":
        return one
    return SeveralRowsDecoder(one, {"lines": split_lines, "array": split_arrays}[spec.rows])


def _with_leeway(spec: DecoderSpec) -> Decoder:
    return with_leeway(
        schema=spec.schema,
        zone=spec.zone,
        sources=spec.sources,
        changes=spec.changes,
        open_decoder=lambda columns, of: JsonDecoder(spec.of_columns(columns, of)),
    )


class JsonDecoder:
    """One JSON object a message, its values to the columns that take them, by docs/decoding.md."""

    def __init__(self, spec: DecoderSpec, library: Any = LIBRARY) -> None:
        """`library`: the compiled one; None: the exact decoder alone."""
        check_columns(spec)
        self.schema = schema = spec.schema
        zone, sources = spec.zone, spec.source_of_each()
        # the library takes every number for an instant: those of days are read by with_leeway
        assert all(zone_of(source.unit, zone) == zone for source in sources if source.unit is not None)
        spelling = in_small_letters if spec.any_case else as_it_stands
        self._compiled = (
            None
            if library is None
            else CompiledReader(
                library=library,
                schema=schema,
                zone=zone,
                sources=sources,
                spelling=spelling,
                any_case=spec.any_case,
            )
        )
        exact = ExactDecoder(schema, zone, sources, spelling)
        self._reader = PartReader(schema, exact.decode, self._compiled)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        decoded = together(self.schema, [self._reader.read(values, np.arange(len(values)))])
        return decoded if self._compiled is None else replace(decoded, new_keys=self._compiled.new_keys())

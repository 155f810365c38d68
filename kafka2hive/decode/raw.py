"""Format `raw`: the message is the row's only column."""

import numpy as np
import pyarrow as pa

from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.values.batch import cast_or_null, decoder_result
from kafka2hive.plugins import Decoded, Decoder, Reason


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder. Raises ValueError unless the table has one column, of type binary or string."""
    return RawDecoder(spec.schema)


class RawDecoder:
    """Fills one column: a binary one with any bytes, a string one with bytes that must be UTF-8."""

    def __init__(self, schema: pa.Schema) -> None:
        if len(schema) != 1 or schema.field(0).type not in (pa.binary(), pa.string()):
            raise ValueError(f"format raw fills one column of type binary or string, the table has: {schema}")
        self.schema = schema

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder. Rejects with `raw.utf8` only."""
        column, bad = cast_or_null(values, self.schema.field(0).type)
        refusals = dict.fromkeys(
            np.flatnonzero(bad).tolist(), Reason("raw.utf8", "the value is not valid UTF-8")
        )
        if refusals:
            column = column.filter(pa.array(~bad))
        rows = pa.RecordBatch.from_arrays([column], schema=self.schema)
        return decoder_result(rows, np.flatnonzero(~bad), refusals)

"""Messages that a schema registry's serializer has put a head before: byte 0 and the schema's id; here only the rest counts."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.protocol import Decoded, Decoder
from kafka2hive.pipeline.decode.registered.frames import HEAD, no_frame, schema_ids

_TO_THE_END = 2**31 - 1


class FramedDecoder:
    """See Decoder: what `inner` makes of each message without its head. Rejects with `inner`'s reasons and `json.frame`."""

    def __init__(self, inner: Decoder) -> None:
        self.schema = inner.schema
        self._inner = inner

    def decode(self, values: pa.BinaryArray) -> Decoded:
        framed = schema_ids(values) >= 0
        if framed.all():
            return self._inner.decode(pc.binary_slice(values, HEAD, _TO_THE_END))
        places, bare = np.flatnonzero(framed), np.flatnonzero(~framed)
        decoded = self._inner.decode(pc.binary_slice(values.take(pa.array(places)), HEAD, _TO_THE_END))
        rejected = np.concatenate([places[decoded.rejected.to_numpy()], bare])
        reasons = [*decoded.reasons.to_pylist(), *[no_frame("json", "the JSON")] * len(bare)]
        order = np.argsort(rejected, kind="stable")
        return Decoded(
            rows=decoded.rows,
            accepted=pa.array(places[decoded.accepted.to_numpy()], pa.int32()),
            rejected=pa.array(rejected[order], pa.int32()),
            reasons=pa.array(reasons, pa.string()).take(pa.array(order)),
            without_rows=None
            if decoded.without_rows is None
            else pa.array(places[decoded.without_rows.to_numpy()], pa.int32()),
        )

"""Decode JSON behind the head that a schema registry's serializer writes (byte 0 and the schema's id), which is skipped."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Framing
from kafka2hive.decode import json as json_decoder
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.framing.frames import heads, json_id_hint, no_frames
from kafka2hive.decode.values.batch import Places
from kafka2hive.plugins import Decoded, Decoder

_TO_THE_END = 2**31 - 1


def make(spec: DecoderSpec) -> Decoder:
    """Format `json_schema`: a serializer writes one document of JSON."""
    document = replace(spec, format="json", rows="array" if spec.rows == "array" else "one")
    return FramedDecoder(json_decoder.make(document), spec.wire.framing)


class FramedDecoder:
    """See Decoder: what `inner` makes of each message without its head. Rejects with `inner`'s reasons and `json.frame`."""

    def __init__(self, inner: Decoder, framing: Framing = "id4") -> None:
        self.schema = inner.schema
        self._inner = inner
        self._framing = framing

    def decode(self, values: pa.BinaryArray) -> Decoded:
        places, bodies, bare = self._bodies(values)
        decoded = self._with_hints(self._inner.decode(bodies), values, places)
        if len(places) == len(values):
            return decoded
        rejected = np.concatenate([places[decoded.rejected.to_numpy()], bare])
        reasons = [
            *decoded.reasons,
            *no_frames(format="json", what="the JSON", values=values, places=bare, framing=self._framing),
        ]
        order = np.argsort(rejected, kind="stable")
        return Decoded(
            rows=decoded.rows,
            accepted=pa.array(places[decoded.accepted.to_numpy()], pa.int32()),
            rejected=pa.array(rejected[order], pa.int32()),
            reasons=[reasons[at] for at in order],
            without_rows=None
            if decoded.without_rows is None
            else pa.array(places[decoded.without_rows.to_numpy()], pa.int32()),
        )

    def _with_hints(self, decoded: Decoded, values: pa.BinaryArray, places: Places) -> Decoded:
        """`places`: of the framed messages."""
        if not len(decoded.rejected):
            return decoded
        messages = values.take(pa.array(places[decoded.rejected.to_numpy()])).to_pylist()
        reasons = [
            replace(reason, text=reason.text + json_id_hint(message, self._framing))
            for reason, message in zip(decoded.reasons, messages, strict=True)
        ]
        return replace(decoded, reasons=reasons)

    def _bodies(self, values: pa.BinaryArray) -> tuple[Places, pa.BinaryArray, Places]:
        """The places of the framed messages, ascending, what follows the head of each, and the places of the others."""
        by_length: dict[int, list[Places]] = {}
        for head, found in heads(values, self._framing):
            by_length.setdefault(head.length, []).append(found)
        bare = np.sort(np.concatenate(by_length.pop(0, [np.empty(0, np.int64)])))
        if len(by_length) == 1 and not len(bare):
            return np.arange(len(values)), pc.binary_slice(values, next(iter(by_length)), _TO_THE_END), bare
        places, bodies = np.empty(0, np.int64), pa.array([], pa.binary())
        for length, found_places in by_length.items():
            of_length = np.concatenate(found_places)
            sliced = pc.binary_slice(values.take(pa.array(of_length)), length, _TO_THE_END)
            places, bodies = np.concatenate([places, of_length]), pa.concat_arrays([bodies, sliced])
        order = np.argsort(places, kind="stable")
        return places[order], bodies.take(pa.array(order)), bare

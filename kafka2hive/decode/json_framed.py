"""Format `json_schema`: skip the head that a schema registry's serializer writes, and decode the JSON behind it."""

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
    """Make the decoder. Messages are one object, or with `rows: array` an array: a serializer writes one JSON document."""
    document = replace(spec, format="json", rows="array" if spec.rows == "array" else "one")
    return FramedDecoder(json_decoder.make(document), spec.wire.framing)


class FramedDecoder:
    """Decodes each message without its head by `inner`. Rejects with the reasons of `inner`, and with `json.frame`."""

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
        """Add hints to the reasons. `places`: of the messages with a head, which were decoded."""
        if not len(decoded.rejected):
            return decoded
        messages = values.take(pa.array(places[decoded.rejected.to_numpy()])).to_pylist()
        reasons = [
            replace(reason, text=reason.text + json_id_hint(message, self._framing))
            for reason, message in zip(decoded.reasons, messages, strict=True)
        ]
        return replace(decoded, reasons=reasons)

    def _bodies(self, values: pa.BinaryArray) -> tuple[Places, pa.BinaryArray, Places]:
        """Return the places of messages with a head, their bytes behind it, and the places of the others; all ascending."""
        by_length: dict[int, list[Places]] = {}
        for head, places_of_head in heads(values, self._framing):
            by_length.setdefault(head.length, []).append(places_of_head)
        bare = np.sort(np.concatenate(by_length.pop(0, [np.empty(0, np.int64)])))
        if len(by_length) == 1 and not len(bare):
            return np.arange(len(values)), pc.binary_slice(values, next(iter(by_length)), _TO_THE_END), bare
        places, bodies = np.empty(0, np.int64), pa.array([], pa.binary())
        for length, groups in by_length.items():
            of_length = np.concatenate(groups)
            sliced = pc.binary_slice(values.take(pa.array(of_length)), length, _TO_THE_END)
            places, bodies = np.concatenate([places, of_length]), pa.concat_arrays([bodies, sliced])
        order = np.argsort(places, kind="stable")
        return places[order], bodies.take(pa.array(order)), bare

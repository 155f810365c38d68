"""Format `json_schema`: the rows and dead letters of `json`, behind the head of a schema registry's serializer."""

import json
import random

import pyarrow as pa

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.plugins import Decoder, Reason
from tests.harness.outcomes import row_outcomes

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])
HEAD = b"\0\0\0\1\7"
BARE = [b"", b"\0", HEAD[:4], b'{"a":1}', b"\1" + HEAD[1:] + b'{"a":1}', b"\xff"]


def _outcomes(decoder: Decoder, messages: list[bytes]) -> list[object]:
    return [str(one) if isinstance(one, Reason) else one for one in row_outcomes(decoder, messages)]


def test_what_follows_the_head_is_decoded_as_json_and_what_has_none_is_refused() -> None:
    draw = random.Random(3)
    bodies = [json.dumps({"a": n, "b": f"x{n}"}).encode() for n in range(50)]
    bodies += [b"{", b'{"a":"x"}', b"[]", b'{"a":1}{}', HEAD + b"{}"]
    plain, framed = (
        make_decoder(DecoderSpec("json", SCHEMA)),
        make_decoder(DecoderSpec("json_schema", SCHEMA)),
    )
    for share in (0.0, 0.3, 1.0):
        chosen = [draw.choice(BARE) if draw.random() < share else draw.choice(bodies) for _ in range(200)]
        is_bare = [body in BARE for body in chosen]
        messages = [body if bare else HEAD + body for body, bare in zip(chosen, is_bare, strict=True)]
        expected = _outcomes(plain, chosen)
        found = _outcomes(framed, messages)
        assert len(found) == len(messages)
        for outcome, body_outcome, bare in zip(found, expected, is_bare, strict=True):
            assert str(outcome).startswith("json.frame: ") if bare else outcome == body_outcome

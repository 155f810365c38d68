"""JSON lines and arrays: all rows of a message or one dead letter, as the slow judge has it, by every way to decode."""

import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.compiled import NativeArrays
from kafka2hive.decode.json import array_split
from kafka2hive.decode.rows import decoder as bounds
from kafka2hive.decode.rows.decoder import MOST_ROWS, SeveralRowsDecoder
from kafka2hive.decode.rows.json import exact_elements, split_arrays, split_lines
from kafka2hive.model.offsets import AccountingMismatch
from kafka2hive.plugins import Decoded, Decoder, Reason
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.contract.rows_reference import Judge
from tests.fuzz.mutate import damaged
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import outcomes_of
from tests.harness.reasons import texts_of

SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string())])
SPLITS = {"lines": split_lines, "array": split_arrays}
ROW = '{"n": 1, "t": "a"}'

CASES: list[tuple[str, str, bytes, int | str]] = [
    ("one line", "lines", ROW.encode(), 1),
    ("a line break at the end", "lines", f"{ROW}\n".encode(), 1),
    ("lines of Windows", "lines", f"{ROW}\r\n{ROW}\r\n".encode(), 2),
    ("blank lines are none", "lines", f"\n\n{ROW}\n \t\r\n{ROW}\n\n".encode(), 2),
    ("nothing", "lines", b"", 0),
    ("blank lines alone", "lines", b"\n \n\r\n", 0),
    ("a break written in a text", "lines", b'{"t": "a\\nb"}\n{"n": 2}', 2),
    ("an array is no line", "lines", f"[{ROW}]".encode(), "json.object"),
    ("two objects on a line", "lines", f"{ROW}{ROW}".encode(), "json.syntax"),
    ("commas between lines", "lines", f"{ROW},\n{ROW}".encode(), "json.syntax"),
    ("an object over two lines", "lines", b'{"n":\n1}', "json.syntax"),
    ("the second is bad", "lines", f'{ROW}\n{{"n": "x"}}\n{ROW}'.encode(), "json.type"),
    ("the last is cut off", "lines", f'{ROW}\n{{"n": '.encode(), "json.syntax"),
    ("NUL between", "lines", f"{ROW}\n\0\n{ROW}".encode(), "json.syntax"),
    ("array", "array", f"[{ROW},{ROW}]".encode(), 2),
    ("one element", "array", f"[{ROW}]".encode(), 1),
    ("white space everywhere", "array", f" \n[ {ROW}\t,\r\n{ROW} ] \n".encode(), 2),
    ("a line break behind it", "array", f"[{ROW},{ROW}]\n".encode(), 2),
    ("no element", "array", b"[]", 0),
    ("no element, with blanks", "array", b" [ \n ] ", 0),
    ("brackets, quotes and commas in texts", "array", b'[{"t": "],[\\"}{,\\\\"},{"t":"\\\\\\""}]', 2),
    ("nested values", "array", b'[{"n":1,"x":[[1,{"y":[]}],"],"]},{"x":{"z":[{}]}}]', 2),
    ("empty objects", "array", b"[{},{},{}]", 3),
    ("empty", "array", b"", "json.empty"),
    ("blank", "array", b" \n", "json.empty"),
    ("an object", "array", ROW.encode(), "json.array"),
    ("null", "array", b"null", "json.array"),
    ("lines", "array", f"{ROW}\n{ROW}".encode(), "json.syntax"),
    ("numbers", "array", b"[1,2]", "json.object"),
    ("null among them", "array", f"[{ROW},null]".encode(), "json.object"),
    ("an array within", "array", f"[[{ROW}]]".encode(), "json.object"),
    ("a comma too many", "array", f"[{ROW},]".encode(), "json.syntax"),
    ("a comma too few", "array", f"[{ROW}{ROW}]".encode(), "json.syntax"),
    ("two arrays", "array", f"[{ROW}][{ROW}]".encode(), "json.syntax"),
    ("two arrays with a comma", "array", f"[{ROW}],[{ROW}]".encode(), "json.syntax"),
    ("cut off", "array", f"[{ROW},".encode(), "json.syntax"),
    ("not closed", "array", f"[{ROW}".encode(), "json.syntax"),
    ("not opened", "array", f"{ROW}]".encode(), "json.syntax"),
    ("the wrong bracket", "array", f"[{ROW}}}".encode(), "json.syntax"),
    ("text before", "array", f"x[{ROW}]".encode(), "json.syntax"),
    ("text behind", "array", f"[{ROW}]x".encode(), "json.syntax"),
    ("a quote that is not closed", "array", b'[{"t": "a}]', "json.syntax"),
    ("an escape at the end", "array", b'[{"t": "a"}]\\', "json.syntax"),
    ("the second is bad", "array", f'[{ROW},{{"n": "x"}},{ROW}]'.encode(), "json.type"),
    ("a key twice", "array", b'[{"n":1},{"n":1,"n":2}]', "json.duplicate"),
    ("not UTF-8", "array", b'[{"t":"\xff"}]', "json.utf8"),
    ("half a pair", "array", b'[{"t":"\\ud800"}]', "json.surrogate"),
    ("too deep", "array", b'[{"x":' + b"[" * 64 + b"]" * 64 + b"}]", "json.depth"),
    ("as deep as a row may be", "array", b'[{"x":' + b"[" * 63 + b"]" * 63 + b"}]", 1),
]


def decoder(way: str, kind: str, schema: pa.Schema = SCHEMA) -> SeveralRowsDecoder:
    if (kind, way) == ("array", "compiled"):
        return SeveralRowsDecoder(WAYS[way](schema, "UTC"), array_split())
    return SeveralRowsDecoder(WAYS[way](schema, "UTC"), SPLITS[kind])


def outcomes(decoder: Decoder, messages: list[bytes]) -> list[Any]:
    """Return for each message its rows, or the reason's code."""
    return [one.code if isinstance(one, Reason) else one for one in outcomes_of(decoder, messages)]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("kind", "message", "outcome"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_message_is_its_rows_or_one_dead_letter(
    way: str, kind: str, message: bytes, outcome: int | str
) -> None:
    (found,) = outcomes(decoder(way, kind), [message])
    assert (len(found) if isinstance(found, list) else found) == outcome
    judged = Judge(SCHEMA, kind).of(message)
    assert found == judged or outcome == "json.depth"


@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize("way", EACH_WAY)
def test_messages_together_are_what_each_is_alone(way: str, kind: str) -> None:
    draw, made, judge = random.Random(12), decoder(way, kind), Judge(SCHEMA, kind)
    cases = [message for _, of, message, outcome in CASES if of == kind and outcome != "json.depth"]
    for _ in range(60):
        some = [draw.choice(cases) for _ in range(draw.randrange(30))]
        assert outcomes(made, some) == list(map(judge.of, some))


def test_the_fast_way_takes_apart_what_is_plainly_right() -> None:
    """Else every message would go the slow way, and nobody would see it but by the clock."""
    plain = [json.dumps([{"t": 'a"],[\\', "x": [{}, []]}] * n).encode() for n in range(1, 5)]
    asked: list[bytes] = []

    def slow(message: bytes) -> list[bytes] | Reason:
        asked.append(message)
        return exact_elements(message)

    split_arrays(pa.array([*plain, b" []"], pa.binary()), slow)
    assert asked == [b" []"]


@needs_compiled
def test_the_library_takes_apart_what_is_right_and_its_doubt_changes_no_reason() -> None:
    cases = [message for _, kind, message, _ in CASES if kind == "array"]
    draw = random.Random(7)
    damage = [damaged(draw, draw.choice(cases), cases) for _ in range(2_000)]
    values = pa.array([*cases, *damage], pa.binary())
    texts, counts, certain = NativeArrays(LIBRARY, MOST_ROWS).split(values)
    assert certain[: len(cases)].sum() >= sum(
        type(outcome) is int for _, kind, _, outcome in CASES if kind == "array"
    )
    assert len(texts) == counts.sum() and not counts[~certain].any()
    compiled, without = decoder("compiled", "array"), decoder("exact", "array")
    assert outcomes_of(compiled, values.to_pylist()) == outcomes_of(without, values.to_pylist())


def test_the_reason_says_which_row_of_the_message_is_bad() -> None:
    values = pa.array([b'[{"n":1},{"n":2},{"n":"x"},{"n":"y"}]'])
    (reason,) = texts_of(decoder("exact", "array").decode(values).reasons)
    assert reason.startswith("json.type: column n") and reason.endswith("(ordinal 2 of its message)")


@pytest.mark.parametrize("kind", SPLITS)
def test_a_message_of_more_rows_than_are_held_at_once_is_one_dead_letter(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("json", "decoder"):
        monkeypatch.setattr(f"kafka2hive.decode.rows.{module}.MOST_ROWS", 5)
    joined = [("\n" if kind == "lines" else ",").join([ROW] * count) for count in (5, 6, 1)]
    values = [(text if kind == "lines" else f"[{text}]").encode() for text in joined]
    first, reason, last = outcomes_of(decoder("exact", kind), values)
    assert (len(first), len(last)) == (5, 1)
    assert str(reason) == "rows.many: 6 rows in one message, 5 are allowed"


def test_rows_are_decoded_in_parts_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka2hive.decode.rows.decoder.ROWS_AT_ONCE", 4)
    made, judge = decoder("exact", "array"), Judge(SCHEMA, "array")
    messages = [b"[%s]" % b",".join(b'{"n":%d}' % n for n in range(size)) for size in (3, 0, 9, 2)]
    messages[3] = b'[{"n":1},{"n":"x"}]'
    assert outcomes(made, messages) == list(map(judge.of, messages))


@pytest.mark.parametrize(("kind", "mark"), [("lines", bounds.LINE_END), ("array", bounds.OBJECT)])
def test_a_message_never_has_more_rows_than_its_marks_say(kind: str, mark: bytes) -> None:
    messages = [message for _, of, message, _ in CASES if of == kind]
    decoded = decoder("exact", kind).decode(pa.array(messages, pa.binary()))
    rows = np.bincount(decoded.accepted.to_numpy(), minlength=len(messages))
    assert (rows <= bounds.most_rows(pa.array(messages, pa.binary()), mark)).all()


def test_groups_hold_few_rows_and_a_long_message_stands_alone() -> None:
    found = list(bounds.groups(np.array([3, 3, 5, 20, 1, 1]), 10))
    assert [(piece.start, piece.stop) for piece in found] == [(0, 2), (2, 3), (3, 4), (4, 6)]


def test_a_decoder_that_loses_a_row_is_found_out() -> None:
    class Forgetful:
        schema = SCHEMA

        def decode(self, values: pa.BinaryArray) -> Decoded:
            return make_decoder(DecoderSpec("json", SCHEMA)).decode(values.slice(1))

    with pytest.raises(
        AccountingMismatch, match="2 rows of messages: 1 were accepted, 0 refused, 0 are header lines"
    ):
        SeveralRowsDecoder(Forgetful(), split_lines).decode(pa.array([f"{ROW}\n{ROW}".encode()]))

"""Records of CSV in one message: all rows or one dead letter, as a judge has it that walks through the text by characters."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.csv import CsvDecoder
from kafka2hive.decode.rows import decoder as bounds
from tests.contract.test_several_rows import outcomes
from tests.harness.reasons import texts_of

SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string())])
PLAIN, ESCAPED, TABS = CsvOptions(), CsvOptions(escape="\\"), CsvOptions(delimiter="\t", quote="", trim=False)

CASES: list[tuple[str, CsvOptions, bytes, int | str]] = [
    ("one line", PLAIN, b"1,a", 1),
    ("two lines", PLAIN, b"1,a\n2,b\n", 2),
    ("lines of Windows", PLAIN, b"1,a\r\n2,b\r\n", 2),
    ("empty lines are none", PLAIN, b"\n1,a\n\r\n\n2,b\n\n", 2),
    ("nothing", PLAIN, b"", 0),
    ("line breaks alone", PLAIN, b"\n\r\n\n", 0),
    ("a line of blanks is a record", PLAIN, b"1,a\n  \n", "csv.fields"),
    ("a line break in quotes", PLAIN, b'1,"a\nb"\n2,"c\r\n"\r\n', 2),
    ("quotes in quotes", PLAIN, b'1,"a"""\n2,"""\n"\n', 2),
    ("an empty line in quotes", PLAIN, b'1,"\n\n"\n2,b', 2),
    ("a quote that is not closed", PLAIN, b'1,"a\n2,b\n', "csv.quote"),
    ("quotes within fields", PLAIN, b'1,a"b\n2,c"d\n', "csv.quote"),
    ("quotes that balance over two lines", PLAIN, b'1,a"\n2,"b\n', "csv.quote"),
    ("the second is short", PLAIN, b"1,a\n2\n3,c", "csv.fields"),
    ("the second is no number", PLAIN, b"1,a\nx,b\n", "csv.type"),
    ("a carriage return is no line break", PLAIN, b"1,a\r2,b", "csv.line_break"),
    ("not UTF-8", PLAIN, b"1,a\n2,\xff\n", "csv.utf8"),
    ("nulls", PLAIN, b",\n,\n", 2),
    ("an escaped line break", ESCAPED, b"1,a\\\nb\n2,c\n", 2),
    ("an escaped quote in quotes", ESCAPED, b'1,"a\\"\nb"\n2,c\n', 2),
    ("an escaped escape before a line break", ESCAPED, b"1,a\\\\\n2,b", 2),
    ("an escape at the end", ESCAPED, b"1,a\n2,b\\", "csv.escape"),
    ("quotes are text", TABS, b'1\t"a\n2\tb"\n', 2),
    ("tabs alone are a record", TABS, b"\t\n1\ta\n", 2),
]


class Judge:
    """Cuts a message by walking through it, and gives each record to the exact decoder alone."""

    def __init__(self, options: CsvOptions) -> None:
        self._options = options
        self._one = CsvDecoder(DecoderSpec("csv", SCHEMA, "UTC", csv=options), is_fast=False)

    def of(self, message: bytes) -> list[list[Any]] | str:
        rows = []
        for line in self._lines(message):
            decoded = self._one.decode(pa.array([line], pa.binary()))
            if len(decoded.rejected):
                return decoded.reasons[0].code
            rows.append(list(decoded.rows.to_pylist()[0].values()))
        return rows

    def _lines(self, message: bytes) -> list[bytes]:
        lines, line, within, meant = [], b"", False, False
        for byte in message:
            one = bytes([byte])
            line += one
            mark = one.decode("latin-1")
            if not meant and mark == self._options.escape:
                meant = True
                continue
            if not meant and mark == self._options.quote:
                within = not within
            if one == b"\n" and not within and not meant:
                lines.append(line)
                line = b""
            meant = False
        return [one for one in [*lines, line] if one not in (b"", b"\n", b"\r\n")]


def decode(options: CsvOptions, messages: list[bytes]) -> list[Any]:
    decoder = make_decoder(DecoderSpec("csv", SCHEMA, csv=options, rows="lines"))
    return outcomes(decoder, messages)


@pytest.mark.parametrize(("options", "message", "outcome"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_message_is_its_records_or_one_dead_letter(
    options: CsvOptions, message: bytes, outcome: int | str
) -> None:
    (found,) = decode(options, [message])
    assert (len(found) if isinstance(found, list) else found) == outcome
    assert found == Judge(options).of(message)


@pytest.mark.parametrize("options", [PLAIN, ESCAPED, TABS], ids=["plain", "escaped", "tabs"])
def test_messages_together_are_what_each_is_alone(options: CsvOptions) -> None:
    draw, judge = random.Random(12), Judge(options)
    cases = [message for _, of, message, _ in CASES if of == options]
    marks = b'12,ab"\\\n\r\t'
    for _ in range(40):
        some = [draw.choice(cases) for _ in range(draw.randrange(12))]
        some += [bytes(draw.choices(marks, k=draw.randrange(12))) for _ in range(8)]
        assert decode(options, some) == list(map(judge.of, some))


def test_a_message_never_has_more_rows_than_line_feeds_and_one() -> None:
    messages = [message for _, of, message, _ in CASES if of == PLAIN]
    most = bounds.most_rows(pa.array(messages, pa.binary()), bounds.LINE_END)
    rows = [len(found) if isinstance(found, list) else 0 for found in decode(PLAIN, messages)]
    assert (np.array(rows) <= most).all()


def test_the_reason_says_which_record_is_bad() -> None:
    decoder = make_decoder(DecoderSpec("csv", SCHEMA, csv=PLAIN, rows="lines"))
    (reason,) = texts_of(decoder.decode(pa.array([b"1,a\n2,b\n3\n"])).reasons)
    assert reason == "csv.fields: 1 fields for 2 columns (ordinal 2 of its message)"


def test_an_array_behind_the_head_of_a_registrys_serializer_is_several_rows() -> None:
    decoder = make_decoder(DecoderSpec("json_schema", SCHEMA, rows="array"))
    head = b"\0\0\0\0\7"
    messages = [
        head + b'[{"n":1},{"n":2}]',
        b'[{"n":3}]',
        head + b"[]",
        head + b'{"n":4}',
        head + b'[{"n":5}]',
    ]
    assert outcomes(decoder, messages) == [
        [[1, None], [2, None]],
        "json.frame",
        [],
        "json.array",
        [[5, None]],
    ]

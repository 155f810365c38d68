"""Format csv: the acceptance table both ways, Python's csv module as a second opinion, and one row a message whatever comes."""

import csv
import io
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.csv import ArrowSplitter, CsvDecoder
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Reason
from tests.contract.csv_cases import CASES, ESCAPED, PLAIN, SINGLE, TABS, TRIMMED, WIDE, WIDE_ESCAPED, Outcome
from tests.harness.outcomes import row_outcomes
from tests.harness.reasons import texts_of

OPTIONS = [PLAIN, TABS, ESCAPED, TRIMMED, SINGLE, WIDE, WIDE_ESCAPED]
THREE = pa.schema([(name, pa.string()) for name in "abc"])


def decoded(messages: list[bytes], options: CsvOptions, parsed: bool, schema: pa.Schema = THREE) -> list[Any]:
    """Return for each message its row, or the reason's code."""
    decoder = CsvDecoder(DecoderSpec("csv", schema, "UTC", csv=options), is_fast=parsed)
    return [one.code if isinstance(one, Reason) else one for one in row_outcomes(decoder, messages)]


@pytest.mark.parametrize("parsed", [False, True])
@pytest.mark.parametrize(("options", "message", "outcome"), CASES)
def test_the_table_of_messages(options: CsvOptions, message: str, outcome: Outcome, parsed: bool) -> None:
    assert decoded([message.encode()], options, parsed) == [outcome]


@pytest.mark.parametrize("options", OPTIONS)
def test_messages_together_are_what_each_is_alone(options: CsvOptions) -> None:
    draw = random.Random(3)
    mine = [(message.encode(), outcome) for of, message, outcome in CASES if of is options]
    for _ in range(60):
        some = [draw.choice(mine) for _ in range(draw.randrange(30))]
        assert decoded([message for message, _ in some], options, True) == [outcome for _, outcome in some]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_random_messages_are_the_same_both_ways(options: CsvOptions, count: int) -> None:
    draw = random.Random(4)
    letters = [
        options.delimiter,
        options.delimiter,
        options.quote,
        options.escape or "",
        *options.null_texts,
        options.delimiter[:1],
        "\x1f",
        "\n",
        "\r",
    ]
    letters += ["\r\n", "a", " ", "\t", "é", '"', ",", "\x00", "\ufeff", "", "b" * 20]
    texts = ["".join(draw.choice(letters) for _ in range(draw.randrange(12))) for _ in range(1_500)]
    messages = [text.encode() if draw.random() < 0.98 else text.encode() + b"\xff" for text in texts]
    schema = pa.schema([(f"c{n}", pa.string()) for n in range(count)])
    fast = decoded(messages, options, True, schema)
    assert fast == decoded(messages, options, False, schema)
    assert any(isinstance(outcome, list) for outcome in fast)


@pytest.mark.parametrize("options", [PLAIN, TABS, SINGLE])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_what_pythons_writer_writes_is_read_back(options: CsvOptions, quoting: int) -> None:
    draw = random.Random(5)
    letters = ["a", "é", " ", ";", "x" * 9] + (
        [options.quote, options.delimiter, "\n", "\r\n"] if options.quote else []
    )
    rows = [
        ["".join(draw.choice(letters) for _ in range(draw.randrange(5))) for _ in range(3)]
        for _ in range(500)
    ]
    messages = []
    for row in rows:
        out = io.StringIO()
        quotes = (
            {"quotechar": options.quote, "quoting": quoting} if options.quote else {"quoting": csv.QUOTE_NONE}
        )
        csv.writer(out, delimiter=options.delimiter, strict=True, **quotes).writerow(row)
        messages.append(out.getvalue().encode())
    for parsed in (False, True):
        found = decoded(messages, options, parsed)
        bare = (
            options.null_text == "" and quoting == csv.QUOTE_MINIMAL
        )  # an empty text without quotes is NULL
        assert [[(x or "") if bare else x for x in row] for row in found] == rows


@pytest.mark.parametrize("options", [PLAIN, SINGLE])
def test_what_is_accepted_is_what_pythons_strict_reader_reads(options: CsvOptions) -> None:
    draw = random.Random(6)
    letters = [options.delimiter] * 3 + [options.quote] * 3 + ["\n", "a", " "]
    texts = ["".join(draw.choice(letters) for _ in range(draw.randrange(1, 14))) for _ in range(3_000)]
    bare = CsvOptions(options.delimiter, options.quote, null_text="~")
    messages = [text.encode() for text in texts]
    compared = 0
    for text, outcome in zip(texts, decoded(messages, bare, False), strict=True):
        if isinstance(outcome, list):
            (row,) = csv.reader(
                io.StringIO(text, newline=""),
                delimiter=options.delimiter,
                quotechar=options.quote,
                strict=True,
            )
            assert outcome == row
            compared += 1
    assert compared > 20


TYPED = {"n": "bigint", "x": "double", "d": "decimal(5,2)", "ok": "boolean", "day": "date", "at": "timestamp"}


@pytest.mark.parametrize("parsed", [False, True])
def test_fields_are_texts_of_their_columns_types(parsed: bool) -> None:
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in TYPED.items()])
    messages = [
        b"1,1.5,1.50,true,2013-01-01,2013-01-01T05:00:00Z",
        b'"-7","2","+1e2","false","2013-01-01","2013-01-01 05:00"',
        b",,,,,",
        b'"",,,,,',
        b"01,,,,,",
        b"9223372036854775808,,,,,",
        b"1,x,y,,,",
        b",,1.234,,,",
        b",,,TRUE,,",
        b",,,,2013-02-30,",
        b",,,,,1356998400",
        b"1,2,3,true,2013-01-01",
    ]
    rows = decoded(messages, PLAIN, parsed, schema)
    assert rows[0][:4] == [1, 1.5, Decimal("1.50"), True]
    assert rows[1][:4] == [-7, 2.0, Decimal("100.00"), False]
    assert rows[0][4:] == rows[1][4:]
    assert rows[2] == [None] * 6
    assert rows[3:] == [
        *("csv.type", "csv.type", "csv.range", "csv.type", "csv.inexact", "csv.type", "csv.date"),
        *("csv.timestamp", "csv.fields"),
    ]


def test_the_first_columns_reason_is_told_and_names_the_column() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    decoder = CsvDecoder(DecoderSpec("csv", schema, "UTC", csv=PLAIN))
    (reason,) = texts_of(decoder.decode(pa.array([b"x,y"])).reasons)
    assert reason == "csv.type: column a expects bigint, got text that is not a number"


def test_the_fast_way_takes_quotes_line_breaks_and_many_columns_and_leaves_the_rest() -> None:
    rows = ArrowSplitter(PLAIN, 3).split(pa.array(["a,b,c", '"a","b\n","c""d"\r\n', 'a,"b"x,c', "a,b"]))
    assert rows[1].tolist() == [True, True, False, False]
    wide = ",".join(f'"{n}"' for n in range(900))
    assert ArrowSplitter(PLAIN, 900).split(pa.array([wide, wide + ",1"]))[1].tolist() == [True, False]
    beyond = ",".join(map(str, range(3_000)))
    schema = pa.schema([(f"c{n}", pa.int32()) for n in range(3_000)])
    messages = [beyond.encode(), beyond.replace("7,", '"7",', 1).encode()]
    assert decoded(messages, PLAIN, True, schema) == [list(range(3_000))] * 2


def test_large_batches_are_read_in_pieces() -> None:
    messages = [b'%d,"%s\n",x' % (n, b"y" * 200) for n in range(50_000)]
    found = decoded(messages, PLAIN, True)
    assert found == [[str(n), "y" * 200 + "\n", "x"] for n in range(50_000)]

"""Header lines of CSV, and booleans as digits: what the map names is read so, and nothing that only resembles it."""

from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.csv import CsvDecoder
from kafka2hive.plugins import Reason
from tests.harness.outcomes import outcomes_of
from tests.harness.reasons import texts_of

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
TEXTS = pa.schema([("id", pa.string()), ("name", pa.string())])
HEADER = CsvOptions(header=("id", "full name"))


def outcomes(decoder: Any, messages: list[bytes]) -> list[Any]:
    """Return for each message its rows, the code of its reason, or None where it holds none."""
    return [one.code if isinstance(one, Reason) else one or None for one in outcomes_of(decoder, messages)]


@pytest.mark.parametrize("parsed", [True, False])
def test_a_record_of_exactly_the_headers_texts_is_no_row(parsed: bool) -> None:
    decoder = CsvDecoder(DecoderSpec("csv", SCHEMA, "UTC", csv=HEADER), is_fast=parsed)
    messages = {
        b"id,full name": None,
        b'"id","full name"\r\n': None,
        b"1,full name": [[1, "full name"]],
        b"id,Full name": "csv.type",
        b"id,full name,x": "csv.fields",
        b"ID,full name": "csv.type",
        b"2,": [[2, None]],
    }
    assert outcomes(decoder, list(messages)) == list(messages.values())
    assert outcomes(decoder, [b"id,full name"] * 3) == [None] * 3


def test_without_a_header_in_the_map_such_a_record_is_one_as_before() -> None:
    assert outcomes(
        CsvDecoder(DecoderSpec("csv", SCHEMA, "UTC", csv=CsvOptions())), [b"id,full name", b"1,a"]
    ) == [
        "csv.type",
        [[1, "a"]],
    ]
    assert outcomes(CsvDecoder(DecoderSpec("csv", TEXTS, "UTC", csv=CsvOptions())), [b"id,full name"]) == [
        [["id", "full name"]]
    ]
    assert outcomes(CsvDecoder(DecoderSpec("csv", TEXTS, "UTC", csv=HEADER)), [b"id,full name", b"a,b"]) == [
        None,
        [["a", "b"]],
    ]


def test_header_lines_within_messages_of_several_lines_are_no_rows() -> None:
    decoder = make_decoder(DecoderSpec("csv", SCHEMA, csv=HEADER, rows="lines"))
    assert outcomes(
        decoder,
        [
            b"id,full name\n1,a\n2,b\n",
            b"id,full name\n",
            b"1,a\nid,full name\nid,full name\n2,b",
            b"id,full name\nx,b\n",
            b"",
            b"3,c",
        ],
    ) == [[[1, "a"], [2, "b"]], None, [[1, "a"], [2, "b"]], "csv.type", None, [[3, "c"]]]


def test_a_header_of_another_length_than_the_columns_is_an_error() -> None:
    with pytest.raises(ValueError, match="a header line of 1 fields for 2 columns"):
        CsvDecoder(DecoderSpec("csv", SCHEMA, "UTC", csv=CsvOptions(header=("id",))))


@pytest.mark.parametrize("parsed", [True, False])
def test_digits_are_booleans_where_the_map_says_so(parsed: bool) -> None:
    schema = pa.schema([("ok", pa.bool_()), ("n", pa.int64())])
    messages = [b"1,1", b"0,0", b"true,1", b"false,0", b",1", b"01,1", b"2,1", b"TRUE,1", b"1.0,1"]
    bad = ["csv.type"] * 4
    words = CsvDecoder(DecoderSpec("csv", schema, "UTC", csv=CsvOptions()), is_fast=parsed)
    assert outcomes(words, messages) == ["csv.type"] * 2 + [[[True, 1]], [[False, 0]], [[None, 1]], *bad]
    digits = CsvDecoder(DecoderSpec("csv", schema, "UTC", csv=CsvOptions(booleans="digits")), is_fast=parsed)
    assert outcomes(digits, messages) == [
        [[True, 1]],
        [[False, 0]],
        [[True, 1]],
        [[False, 0]],
        [[None, 1]],
        *bad,
    ]
    decoded = CsvDecoder(
        DecoderSpec("csv", schema, csv=CsvOptions(booleans="digits")), is_fast=parsed
    ).decode(pa.array([b"2,1"], pa.binary()))
    told = "csv.type: column ok expects boolean, got text other than true, false, 1 and 0"
    assert texts_of(decoded.reasons) == [told]


@pytest.mark.parametrize("parsed", [True, False])
def test_a_header_may_leave_a_name_out(parsed: bool) -> None:
    """As the index of a data frame does."""
    decoder = CsvDecoder(DecoderSpec("csv", SCHEMA, csv=CsvOptions(header=("", "name"))), is_fast=parsed)
    assert outcomes(decoder, [b",name", b'"",name', b",other", b"1,name"]) == [
        None,
        None,
        [[None, "other"]],
        [[1, "name"]],
    ]

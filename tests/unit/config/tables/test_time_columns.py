"""Columns of times with declared forms: which keys go together, and which patterns are refused with their line."""

import pytest

from kafka2hive.config.keys.leeway import Leeway
from tests.harness.map_text import FILMS, HEAD, films, problems_of

T = "type: timestamp"


def test_one_pattern_is_a_list_of_one() -> None:
    columns = films(
        f"    columns: {{a: {{{T}, time_pattern: yyyyMMddHHmmss}}, "
        "b: {type: date, time_pattern: [iso, d.M.yy], pivot: 1970}}\n"
    ).columns
    assert columns[0].leeway == Leeway(time_pattern=("yyyyMMddHHmmss",))
    assert columns[1].leeway == Leeway(time_pattern=("iso", "d.M.yy"), pivot=1970)


@pytest.mark.parametrize(
    ("column", "key", "words"),
    [
        (f"{T}, time_pattern: yyyy-MM HH", "time_pattern", "yyyy-MM HH: the day is missing"),
        (f"{T}, time_pattern: [iso, yyyy-dd HH]", "time_pattern[1]", "the month is missing"),
        (f"{T}, time_pattern: dd.MM.yy HH", "time_pattern", "years of two digits need pivot"),
        (f"{T}, time_pattern: dd.MM.yyyy HH, pivot: 1970", "pivot", "only with a time_pattern that has yy"),
        (f"{T}, pivot: 1970", "pivot", "only with a time_pattern that has yy"),
        (f"{T}, pivot: 0, time_pattern: dd.MM.yy HH", "pivot", "greater than or equal to 1"),
        (f"{T}, time_pattern: dd.MM.yyyy", "time_pattern", "write time_of_day: midnight"),
        (f"{T}, time_pattern: 'dd.MM.yyyy[ HH]'", "time_pattern", "write time_of_day: midnight"),
        ("type: date, time_pattern: dd.MM.yyyy HH", "time_pattern", "write time_of_day: drop"),
        (f"{T}, time_of_day: drop", "time_of_day", "write midnight"),
        ("type: date, time_of_day: midnight", "time_of_day", "write drop"),
        (f"{T}, unit: ms, time_pattern: iso", "time_pattern", "cannot be used with a unit"),
        ("type: date, unit: ms, time_of_day: drop", "time_of_day", "cannot be used with a unit"),
        (f"{T}, epoch: decimal", "epoch", "needs a unit"),
        (f"{T}, unit: d, epoch: decimal", "epoch", "needs a unit of s, ms, us or ns"),
        ("type: string, time_pattern: iso", "time_pattern", "a is string"),
        ("type: bigint, epoch: decimal", "epoch", "a is bigint"),
        (f"{T}, time_pattern: iso, beyond: clamp", "beyond", "cannot be used with time_pattern"),
        (f"{T}, unit: s, epoch: decimal, whole: accept", "whole", "cannot be used with epoch"),
        (f"{T}, time_pattern: [iso, iso]", "time_pattern", "is repeated"),
        (f"{T}, time_pattern: []", "time_pattern", "must not be empty"),
        (f"{T}, time_pattern: iso, quoted: accept", "quoted", "a unit"),
    ],
)
def test_a_key_that_cannot_be_exact_is_refused_with_its_line(column: str, key: str, words: str) -> None:
    (first, *_) = problems_of(HEAD + FILMS + f"    columns: {{a: {{{column}}}}}\n")
    assert first.startswith("map.yaml:8: ") and f"columns.a.{key}: " in first and words in first


@pytest.mark.parametrize("format", ["avro", "protobuf"])
@pytest.mark.parametrize(
    ("keys", "words"),
    [("unit: s, epoch: decimal", "applies only"), ("time_pattern: array", "array applies only")],
)
def test_what_a_schema_has_no_numbers_for_is_refused(format: str, keys: str, words: str) -> None:
    lines = f"    format: {format}\n    columns: {{a: {{{T}, {keys}}}}}\n"
    assert any(words in problem for problem in problems_of(HEAD + FILMS + lines))


@pytest.mark.parametrize("place", ["header: sent", "key: $"])
def test_headers_and_raw_keys_are_texts_in_every_format(place: str) -> None:
    columns = films(
        f"    columns: {{id: bigint, a: {{{T}, {place}, time_pattern: yyyyMMddHHmmss}}}}\n"
    ).columns
    assert columns[1].leeway == Leeway(time_pattern=("yyyyMMddHHmmss",))

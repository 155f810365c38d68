"""Which patterns of times are exact, and what is said of the others."""

import re

import pytest

from kafka2hive.model.time_patterns import PatternError, parse_pattern


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        ("dd/MM/yyyy HH:mm", 1),
        ("yyyyMMddHHmmssSSS", 1),
        ("yyyyMMd", 1),
        ("d.M.yy", 1),
        ("yyyy-MM-dd HH", 1),
        ("[EEE, ]d MMM yyyy HH:mm[:ss] VV", 4),
        ("yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]XXX", 3),
        ("yyyy-MM-dd[ HH:mm[:ss]]", 3),
        ("yyyy-MM-dd'T'HH:mm:ssXXX'['VV']'", 1),
        ("yyyy-MM-dd 'at' ''HH''", 1),
    ],
)
def test_a_pattern_has_a_way_for_each_choice_of_its_optional_parts(text: str, alternatives: int) -> None:
    assert len(parse_pattern(text).alternatives) == alternatives


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("yyyy-MM", "the day is missing"),
        ("HH:mm", "the year is missing"),
        ("yyyy-dd", "the month is missing"),
        ("[yyyy-]MM-dd", "the year is missing"),
        ("yyyy-MM-dd hh:mm", "need each other"),
        ("yyyy-MM-dd HH:mm a", "need each other"),
        ("yyyy-MM-dd mm", "the minute without the hour"),
        ("yyyy-MM-dd HH ss", "the second without the minute"),
        ("yyyy-MM-dd HH:mm.SSS", "the fraction without the second"),
        ("yyyy-MM-dd XXX", "a zone without a time of day"),
        ("yyyyMd", "where the month ends before the day is ambiguous"),
        ("yyyy-MM-dd H0", "where the hour ends before '0' is ambiguous"),
        ("yyyy-MM-dd HH:mmX00", "where the offset ends before '00' is ambiguous"),
        ("yyyy-MM-dd HH:mm VV-x", "where the zone ends before '-' is ambiguous"),
        ("yyyy-MM-dd dd", "the day occurs twice"),
        ("yy-MM-dd yyyy", "the year occurs twice"),
        ("YYYY-MM-dd", "write yyyy"),
        ("y-MM-dd", "write yyyy"),
        ("yyyy-MM-ddTHH:mm", "write literal text in single quotes"),
        ("yyyy-MM-dd HH:mm z", "write VV"),
        ("yyyy-MM-dd HH:mm:ss.SSSSSSSSSS", "at most 9"),
        ("yyyy-MM-dd'x", "a quote is not closed"),
        ("yyyy-MM-dd]", "] without ["),
        ("yyyy-MM-dd[ HH", "[ without ]"),
        ("yyyy-MM-dd {HH}", "{ is reserved"),
        ("yyyy-MM-dd" + "[.]" * 6, "too many optional parts"),
    ],
)
def test_a_pattern_that_is_not_exact_is_refused(text: str, words: str) -> None:
    with pytest.raises(PatternError, match=re.escape(words)):
        parse_pattern(text)

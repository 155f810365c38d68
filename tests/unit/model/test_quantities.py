"""Numbers and times as people write them."""

import pytest

from kafka2hive.model.text import counted, duration, size, unix_seconds, utc_text


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (2, "file", "2 files"),
        (120_000, "record", "120,000 records"),
    ],
)
def test_a_count_takes_the_form_of_its_noun(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_nouns_that_end_in_y_change_it() -> None:
    assert (counted(1, "retry"), counted(3, "retry")) == ("1 retry", "3 retries")


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (26_100_000, "26.1 MB"), (5e15, "5000.0 TB")]
)
def test_bytes_have_a_unit(count: float, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.41, "2.4 s"), (180, "3 min"), (18_000, "5.0 h"), (181_440, "2.1 d")]
)
def test_durations_have_a_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_763_711_324.999, "2025-11-21T07:48:44Z"),
        (-0.5, "1969-12-31T23:59:59Z"),
        (-62_135_596_800, "0001-01-01T00:00:00Z"),  # times are compared as texts
    ],
)
def test_a_time_is_the_second_that_it_lies_in(seconds: float, text: str) -> None:
    assert utc_text(seconds) == text


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00", 60.0),
        ("1970-01-01T02:01:00+02:00", 60.0),
        ("yesterday", None),
    ],
)
def test_a_time_without_a_zone_is_utc(written: str, seconds: float | None) -> None:
    assert unix_seconds(written) == seconds

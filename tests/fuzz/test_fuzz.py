"""A bounded number of damaged inputs of every kind, the same in every run; `scripts/fuzz` for as long as wanted."""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from tests.fuzz.watch import Report, fuzz

EXAMPLES = {
    "flights": 25,
    "wide": 15,
    "paths": 10,
    "cases": 10,
    "raw": 5,
    "snapshots": 75,
    "names": 30,
    "maps": 30,
    "avro": 15,
    "csv": 15,
    "rows": 15,
    "protobuf": 15,
    "broker": 15,
}
"""Of each target; a batch of records is 500 messages, about 220 of them damaged."""


@cache
def reports() -> dict[str, Report]:
    """All targets, two processes at a time."""
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda item: fuzz(item[0], 0, item[1]), EXAMPLES.items())
        return {report.target: report for report in done}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", EXAMPLES)
def test_damaged_input_breaks_nothing(target: str) -> None:
    report = reports()[target]
    assert report.finding is None, f"seed {report.seed}"
    assert report.examples == EXAMPLES[target]


@pytest.mark.timeout(3600)
def test_twelve_thousand_damaged_records_came_through_the_decoders() -> None:
    count = sum((report.count for report in reports().values()), start=Counter())
    sys.stdout.write(f"\n{dict(sorted(count.items()))}\n")
    assert count["damaged messages"] >= 12_500
    assert count["rejected"] > 2_500
    assert count["checked by the reference"] > 1_250
    assert count["forged snapshots that are read"] > 0
    assert count["maps that load"] > 0
    assert count["avro messages"] > 5_000
    assert count["avro messages that are rows"] > 500
    assert count["lines with rows"] > 1_000
    assert count["array with rows"] > 1_000
    assert count["lines of CSV with rows"] > 250
    assert count["csv messages"] > 5_000
    assert count["csv messages that are rows"] > 1_250
    assert count["protobuf messages"] > 1_250
    assert count["protobuf messages that are rows"] > 250
    assert count["damaged answers"] > 5
    assert count["reads that were whole"] > 0
    assert count["reads that failed the table (kafka.bad_msg)"] > 0


def _worker(code: str) -> tuple[str, ...]:
    return (sys.executable, "-X", "faulthandler", "-c", code)


TELL = """import sys, json; from tests.fuzz.worker import run, _tell
def target(seed, count):
    count["tried"] += 1
    if seed == 7: {crime}
run(target, int(sys.argv[2]), int(sys.argv[3]), 60.0, _tell)"""


@pytest.mark.parametrize(
    ("crime", "words"),
    [
        ("import ctypes; ctypes.string_at(0)", "Segmentation fault"),
        ("import os; os.abort()", "ended with -6"),
        ("raise KeyError('surprise')", "surprise"),
    ],
)
def test_a_crash_of_the_whole_process_is_reported_with_its_seed(crime: str, words: str) -> None:
    report = fuzz("target", 5, 10, command=_worker(TELL.format(crime=crime)))
    assert report.seed == 7
    assert report.finding is not None and words in report.finding


def test_examples_without_a_finding_are_counted_and_the_next_seed_is_another_example() -> None:
    report = fuzz("target", 8, 10, command=_worker(TELL.format(crime="pass")))
    assert (report.examples, report.finding, report.count["tried"]) == (10, None, 10)

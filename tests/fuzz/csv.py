"""The CSV decoder against damaged records: accounting, both ways alike, and Python's csv module on what is a row."""

import csv
import io
import random
from collections import Counter

import pyarrow as pa

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.csv import CsvDecoder
from kafka2hive.model.hive_types import parse_hive_type
from tests.fuzz.finding import Finding
from tests.fuzz.mutate import damaged

MESSAGES = 400
TYPES = ("string", "bigint", "double", "decimal(9,2)", "timestamp", "boolean", "date", "int")
TEXTS = (
    "a",
    "",
    "-12",
    "1.50",
    "2013-01-01T05:00:00Z",
    "true",
    "2013-02-28",
    'say "x"',
    "b,c;d\te",
    "e\nf",
    "\\N",
    "é",
)


def fuzz_csv(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    options = CsvOptions(
        delimiter=dice.choice(",;\t|"),
        quote=dice.choice(('"', '"', "'", "")),
        escape=dice.choice((None, None, "\\")),
        null_text=dice.choice(("", "\\N", "a")),
        trim=dice.random() < 0.3,
    )
    width = dice.choice((1, 2, 3, 7))
    kinds = ["string"] * width if dice.random() < 0.5 else [dice.choice(TYPES) for _ in range(width)]
    schema = pa.schema([(f"c{n}", parse_hive_type(kind)) for n, kind in enumerate(kinds)])
    good = [_written(dice, options, width) for _ in range(60)]
    messages = [
        dice.choice(good) if dice.random() < 0.5 else damaged(dice, dice.choice(good), good)
        for _ in range(MESSAGES)
    ]
    fast, slow = (
        CsvDecoder(DecoderSpec("csv", schema, "UTC", csv=options), is_fast=parsed).decode(
            pa.array(messages, pa.binary())
        )
        for parsed in (True, False)
    )
    fast.rows.validate(full=True)
    if sorted([*fast.accepted.to_pylist(), *fast.rejected.to_pylist()]) != list(range(MESSAGES)):
        raise Finding("a message is neither a row nor refused, or both")
    if not (
        fast.accepted.equals(slow.accepted)
        and fast.rejected.equals(slow.rejected)
        and fast.reasons == slow.reasons
        and repr(fast.rows.to_pylist()) == repr(slow.rows.to_pylist())
    ):
        raise Finding(f"{options}: other rows or reasons than the exact way's")
    if options.escape is None and not options.trim and set(kinds) == {"string"}:
        _as_python_reads(messages, options, fast.accepted.to_pylist(), fast.rows)
    count["csv messages"] += MESSAGES
    count["csv messages that are rows"] += len(fast.rows)


def _written(dice: random.Random, options: CsvOptions, width: int) -> bytes:
    out = io.StringIO()
    texts = [dice.choice(TEXTS) for _ in range(width)]
    if not options.quote:
        marks = (options.delimiter, "\n", "\r")
        texts = [text if not any(mark in text for mark in marks) else "x" for text in texts]
        out.write(options.delimiter.join(texts) + dice.choice(("", "\n", "\r\n")))
    else:
        writer = csv.writer(
            out,
            delimiter=options.delimiter,
            quotechar=options.quote,
            lineterminator=dice.choice(("\n", "\r\n")),
        )
        writer.writerow(texts)
    return out.getvalue().encode()


def _as_python_reads(
    messages: list[bytes], options: CsvOptions, accepted: list[int], rows: pa.RecordBatch
) -> None:
    for place, row in zip(accepted, rows.to_pylist(), strict=True):
        text = io.StringIO(messages[place].decode(), newline="")
        if options.quote:
            reader = csv.reader(text, delimiter=options.delimiter, quotechar=options.quote, strict=True)
        else:
            reader = csv.reader(text, delimiter=options.delimiter, quoting=csv.QUOTE_NONE, strict=True)
        (read,) = list(reader)
        if [options.null_text if value is None else value for value in row.values()] != read:
            raise Finding(f"{messages[place]!r}: {row}, Python reads {read}")

"""Messages of several rows against damaged ones: every message once, as the slow judge has it."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.plugins import Decoder
from tests.contract.rows_reference import Judge
from tests.contract.test_csv_lines import ESCAPED, PLAIN
from tests.contract.test_csv_lines import Judge as CsvJudge
from tests.contract.test_several_rows import outcomes
from tests.fuzz.finding import Finding
from tests.fuzz.mutate import damaged

MESSAGES = 200
SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string())])
TEXTS = ("a", "", "],[", '"', "\\", '\\"', "{}", "é", "x\ny", "\u2028", ",", "\\\\")


def fuzz_rows(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    for kind in ("lines", "array"):
        decoder = make_decoder(DecoderSpec("json", SCHEMA, rows=kind))
        _compare(dice, kind, [_written(dice, kind) for _ in range(40)], decoder, Judge(SCHEMA, kind), count)
    options = dice.choice((PLAIN, ESCAPED))
    decoder = make_decoder(DecoderSpec("csv", SCHEMA, csv=options, rows="lines"))
    good = [_fields(dice, options) for _ in range(40)]
    _compare(dice, "lines of CSV", good, decoder, CsvJudge(options), count, MESSAGES // 4)


def _compare(
    dice: random.Random,
    kind: str,
    good: Sequence[bytes],
    decoder: Decoder,
    judge: Judge | CsvJudge,
    count: Counter[str],
    size: int = MESSAGES,
) -> None:
    messages = [
        dice.choice(good) if dice.random() < 0.5 else damaged(dice, dice.choice(good), good)
        for _ in range(size)
    ]
    for message, found in zip(messages, outcomes(decoder, messages), strict=True):
        judged = judge.of(message)
        # of several faults either may name another
        if found != judged and not (isinstance(found, str) and isinstance(judged, str)):
            raise Finding(f"{kind} {message!r}: {found}, the judge says {judged}")
        rows = len(found) if isinstance(found, list) else 0
        count[f"{kind} with rows"] += rows > 0
        count["rows of messages with several"] += rows


def _fields(dice: random.Random, options: CsvOptions) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        quoting=csv.QUOTE_ALL if dice.random() < 0.5 else csv.QUOTE_MINIMAL,
        doublequote=options.escape is None,
        escapechar=options.escape,
        lineterminator=dice.choice(("\n", "\r\n")),
    )
    writer.writerows((dice.randrange(9), dice.choice(TEXTS)) for _ in range(dice.randrange(6)))
    return text.getvalue().encode()


def _written(dice: random.Random, kind: str) -> bytes:
    rows = [
        json.dumps(
            {"n": dice.randrange(9), "t": dice.choice(TEXTS), "x": [{}, dice.choice(TEXTS), [1]]},
            ensure_ascii=dice.random() < 0.5,
            separators=dice.choice(((",", ":"), (", ", ": "))),
        )
        for _ in range(dice.randrange(6))
    ]
    if kind == "lines":
        return (dice.choice(("\n", "\r\n", "\n\n")).join(rows) + dice.choice(("", "\n"))).encode()
    blank = dice.choice(("", "", " ", "\n"))
    return f"{blank}[{blank}{dice.choice((',', ' , ')).join(rows)}]{blank}".encode()

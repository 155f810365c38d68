"""Messages of several rows against damaged ones: every message once, as the slow judge has it."""

import json
import random
from collections import Counter

import pyarrow as pa

from kafka2hive.pipeline.decode import make_decoder
from tests.contract.rows_reference import Judge
from tests.contract.test_several_rows import outcomes
from tests.fuzz.finding import Finding
from tests.fuzz.mutate import damaged

MESSAGES = 200
SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string())])
TEXTS = ("a", "", "],[", '"', "\\", '\\"', "{}", "é", "x\ny", "\u2028", ",", "\\\\")


def fuzz_rows(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    for kind in ("lines", "array"):
        good = [_written(dice, kind) for _ in range(40)]
        messages = [
            dice.choice(good) if dice.random() < 0.5 else damaged(dice, dice.choice(good), good)
            for _ in range(MESSAGES)
        ]
        decoded = make_decoder("json", SCHEMA, rows=kind).decode(pa.array(messages, pa.binary()))
        judge = Judge(SCHEMA, kind)
        for message, found in zip(messages, outcomes(decoded, MESSAGES), strict=True):
            judged = judge.of(message)
            # of several faults either may name another
            if found != judged and not (isinstance(found, str) and isinstance(judged, str)):
                raise Finding(f"{kind} {message!r}: {found}, the judge says {judged}")
        count[f"{kind} with rows"] += len(set(decoded.accepted.to_pylist()))
        count["rows of messages with several"] += len(decoded.rows)


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

"""The config loader against damaged and random maps: frozen values, or all its mistakes. Never another error."""

import random
from collections import Counter
from functools import cache
from pathlib import Path

import yaml

from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.model.errors import ConfigError
from tests.fuzz.finding import Finding
from tests.fuzz.mutate import damaged

CONFIGS = Path(__file__).parents[2] / "configs"
MAPS = 8
"""Maps of one example."""
ENVIRON = {
    "KAFKA_BROKERS": "127.0.0.1:9092",
    "KAFKA_USER": "u",
    "KAFKA_PASSWORD": "p",
    "HIVE_PASSWORD": "${X",
}
_LEAVES: tuple[object, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    "HUGE",
    "",
    "x",
    "a.b",
    "${X}",
    "$${",
    "${",
    "file:",
    "file:\0",
    "10s",
    "0s",
    "1MiB",
    "9" * 5000,
    "-1",
    "1e400",
    "hdfs://h:1",
    "file:///b",
    "[",
    "(",
    "*",
    ".*",
    "\0",
    "ä",
    "\u2028",
    "\U0001f600",
    "{dt}",
    "{x",
    "%Y",
    "%",
    "Europe/Berlin",
    "Nowhere/X",
    "json",
    "raw",
    "timestamp",
    "decimal(99,1)",
    "array<",
    "struct<a:int,A:int>",
    "hive://h:1/d?auth=X",
    "hive://h:99999",
    "hive://[::1",
    "local[*]",
    "../x",
    "/",
    "//",
    "._",
    "_tmp",
    "db.t",
    "db.$1",
    "$1.$2",
    "(a",
    "latest",
    "timestamp:x",
)


def fuzz_maps(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    for _ in range(MAPS):
        kind, text = _any_map(dice)
        count[f"maps: {kind}"] += 1
        try:
            load_text(text, "map.yaml", dict(ENVIRON))
            count["maps that load"] += 1
        except MapInvalid as invalid:
            if not invalid.problems:
                raise Finding(f"refused without a problem: {text!r}") from invalid
            for problem in invalid.problems:
                if "\n" in problem.render("map.yaml") or problem.line < 0:
                    raise Finding(f"{problem!r} of {text!r}") from invalid
        except ConfigError:
            count["maps refused as a whole"] += 1


@cache
def _examples() -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted(CONFIGS.glob("*.yaml")))


def _any_map(dice: random.Random) -> tuple[str, str]:
    text = dice.choice(_examples())
    match dice.randrange(4):
        case 0:
            sources = tuple(example.encode() for example in _examples())
            return "bytes changed", damaged(dice, text.encode(), sources).decode("utf-8", "replace")
        case 1:
            lines = text.split("\n")
            for _ in range(dice.randint(1, 5)):
                at, to = dice.randrange(len(lines)), dice.randrange(len(lines))
                lines[at] = dice.choice((lines[to], "", " " + lines[at], lines[at][2:], "- " + lines[at]))
            return "lines changed", "\n".join(lines)
        case 2:
            document = yaml.safe_load(text)
            for _ in range(dice.randint(1, 4)):
                _change(dice, document)
            return "values changed", _epoch_loop(dice, document)
        case _:
            return "random", _epoch_loop(dice, _value(dice, 0))


def _epoch_loop(dice: random.Random, value: object) -> str:
    text = yaml.safe_dump(value, allow_unicode=dice.random() < 0.5)
    return text.replace("HUGE", "9" * 5000)


def _change(dice: random.Random, node: object) -> None:
    """One value somewhere below becomes another, goes away, or gets a neighbour."""
    while isinstance(node, dict | list) and node:
        key = dice.choice(list(node) if isinstance(node, dict) else range(len(node)))
        if isinstance(node[key], dict | list) and dice.random() < 0.8:
            node = node[key]
            continue
        match dice.randrange(4):
            case 0:
                del node[key]
            case 1 if isinstance(node, dict):
                node[dice.choice(("x", str(key) + "s", 7, "", "topics", "columns"))] = _value(dice, 3)
            case 2:
                node[key] = _value(dice, 2)
            case _:
                node[key] = dice.choice(_LEAVES)
        return


_KEYS = (
    "service",
    "kafka",
    "storage",
    "hive",
    "tables",
    "table",
    "topics",
    "columns",
    "bucket",
    "defaults",
    "dead_letters",
    "limits",
    "uri",
    "url",
    "bootstrap.servers",
    "flush",
    "start",
    "offsets",
    "spark",
    "conf",
    "notify",
    "metrics",
    "format",
)


def _value(dice: random.Random, depth: int) -> object:
    if depth > 4 or dice.random() < 0.4:
        return dice.choice(_LEAVES)
    if dice.random() < 0.4:
        return [_value(dice, depth + 1) for _ in range(dice.randrange(4))]
    return {dice.choice(_KEYS): _value(dice, depth + 1) for _ in range(dice.randrange(6))}

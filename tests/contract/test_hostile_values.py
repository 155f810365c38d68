"""Random maps and values of every kind, near the limits of their columns: each record is a row or a dead letter.

No value fails a table, and none changes what becomes of its neighbours.
"""

import itertools
import json
import random
from typing import Any

import pytest
import yaml

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.load import load_text
from kafka2hive.model.files import FileKind
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import run_task_of, total
from tests.harness.task_files import offsets, read_rows

RECORDS = 60
PLAIN = ["tinyint", "int", "bigint", "float", "double", "boolean", "string", "binary", "date", "timestamp"]
DECIMALS = [
    "decimal(1,1)",
    "decimal(2,2)",
    "decimal(4,2)",
    "decimal(38,0)",
    "decimal(38,1)",
    "decimal(38,38)",
]
NESTED = ["array<int>", "map<string,decimal(3,1)>", "struct<a:int,b:timestamp>"]
NUMBERS = ["0", "-0", "1", "-129", "9.5", "-9.5", "-99.99", "0.5", "-0.99", "1e3", "1e-3", "1e400", "true"]
NUMBERS += ["9" * 38, f"-{'9' * 38}", "9" * 39, f"0.{'9' * 38}", f"-{'9' * 37}.5", f"{2**63}", f"{-(2**63)}"]
NUMBERS += ["253402300799", "-62135596801", "2932897", "null", "NaN"]
TEXTS = [
    "",
    "x",
    "1",
    "1990",
    "-9.5",
    "+1",
    ".5",
    "1.",
    "AAAA",
    "/" * 28,
    "\0",
    "é",
    "2020-02-30",
    "0001-01-01",
]
TEXTS += ["9999-12-31T23:59:59.9999999-12:00", "2020-01-01T00:00:00.123456789Z", "0001-01-01T00:00:00+14:00"]
OTHERS = ["[]", "[1,null]", "{}", '{"a":1}', '{"k":-9.9}', '{"scale":2,"value":"AA=="}', '"\\ud800"']
SOURCES = ["json", "json_schema", "csv", "debezium", "canal", "maxwell"]


class Drawn:
    """A table as a map has it, and records for it with keys and headers."""

    def __init__(self, dice: random.Random, source: str) -> None:
        self._dice, self._source = dice, source
        nested = {"csv": [], "canal": [], "debezium": NESTED[:1]}.get(source, NESTED)
        kinds = [*PLAIN, *DECIMALS, *nested]
        self.columns = {f"c{n}": self._column(n, dice.choice(kinds)) for n in range(4)} | {"z": "string"}
        of_source: dict[str, Any] = (
            {"format": source} if source in ("json", "json_schema", "csv") else {"source": source}
        )
        if source == "debezium" and dice.random() < 0.7:
            of_source["source"] = {"debezium": {"decimals": dice.choice(["text", "base64"])}}
        table = {"table": "db.t", "topics": ["t"], "columns": self.columns, "bucket": {"path": ""}}
        table |= {"metadata": {"offset": "at"}, "zone": dice.choice(["UTC", "America/New_York"]), **of_source}
        document = {"service": "s", "kafka": {"bootstrap.servers": "h:1"}, "storage": {"uri": "file:///x"}}
        self._rule = load_text(yaml.safe_dump(document | {"tables": [table]}), "map.yaml", {}).tables[0]

    @property
    def settings(self) -> TableSettings:
        return self._rule.settings(self._rule.columns)

    def _column(self, number: int, kind: str) -> dict[str, Any]:
        dice, column = self._dice, dict[str, Any](type=kind)
        if self._source == "canal" and kind == "binary":
            column["type"] = "string"
        if kind in ("timestamp", "date") and dice.random() < 0.5:
            column["unit"] = dice.choice(["d", "s", "ms", "us", "ns"])
        if kind == "timestamp" and dice.random() < 0.5:
            column["fraction"] = "truncate"
        way = dice.random()
        if kind in NESTED:
            pass  # of the value alone
        elif way < 0.15:
            column["header"] = f"h{number}"
        elif way < 0.3:
            column["key"] = "$"
        elif way < 0.6 and self._source in ("json", "json_schema"):
            column["from"] = [f"$.c{number}", f"$.d{number}", f"$.o.c{number}"]
        return column

    def log(self) -> FakeLog:
        dice, several = self._dice, range(RECORDS)
        return FakeLog(
            {n: self._record().encode() for n in several},
            RECORDS,
            keys={n: dice.choice([None, self._text().encode()]) for n in several},
            headers={n: [(f"h{dice.randrange(4)}", self._text().encode())] for n in several},
        )

    def _text(self) -> str:
        return self._dice.choice([*TEXTS, *NUMBERS])

    def _object(self) -> str:
        dice = self._dice
        keys = [*(f"c{n}" for n in range(4)), *(f"d{n}" for n in range(4)), "z"]
        values = [*NUMBERS, *map(json.dumps, TEXTS), *OTHERS]
        if self._source == "canal":
            values = ["null", *map(json.dumps, [*TEXTS, *NUMBERS])]
        # a bad one of few members: else hardly a record would be right
        filled = dice.sample(keys, dice.choice((0, 1, 1, 2, 3)))
        return "{" + ",".join(f'"{key}":{dice.choice(values)}' for key in filled) + "}"

    def _record(self) -> str:
        dice, row = self._dice, self._object()
        match self._source:
            case "csv":
                of_value = [c for c in self.columns.values() if not {"header", "key"} & set(c)]
                return ",".join(self._text() if dice.random() < 0.3 else "" for _ in of_value)
            case "debezium":
                other = dice.choice(["null", self._object()])
                return f'{{"op":"{dice.choice("cudrx")}","before":{other},"after":{row},"ts_ms":1}}'
            case "canal":
                kind = dice.choice(["INSERT", "DELETE", "TRUNCATE", "X"])
                return f'{{"type":"{kind}","data":[{row},{self._object()}],"ts":1}}'
            case "maxwell":
                return f'{{"type":"{dice.choice(["insert", "delete", "x"])}","data":{row},"ts":{2**62}}}'
        return ("\0\0\0\0\1" if self._source == "json_schema" else "") + row


def outcomes(log: FakeLog, settings: TableSettings, *planned: tuple[int, int]) -> dict[int, list[str]]:
    """By offset: the rows, or the dead letter. Each range is a chunk of its own."""
    found: dict[int, list[str]] = {}
    for start, end in planned:
        manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, start, end)])
        assert manifest.failure is None, manifest.failure
        counted = total(manifest)
        assert counted.read == end - start
        for row in read_rows(files, manifest):
            found.setdefault(row["at"], []).append(repr(row))
        for letter in read_rows(files, manifest, FileKind.DEAD_LETTER):
            assert letter["offset"] not in found
            found[letter["offset"]] = [letter["reason"], letter["detail"]]
    return found


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("seed", range(12))
def test_every_record_is_a_row_or_a_dead_letter_whatever_stands_beside_it(seed: int, source: str) -> None:
    drawn = Drawn(random.Random(f"{seed} {source}"), source)
    log, settings = drawn.log(), drawn.settings
    together = outcomes(log, settings, (0, RECORDS))
    assert sorted(together) == list(range(RECORDS))
    cuts = [0, 1, 2, 3, 20, 21, RECORDS]
    assert outcomes(log, settings, *itertools.pairwise(cuts)) == together

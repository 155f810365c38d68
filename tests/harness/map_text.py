"""Small maps as text, and what is wrong with them."""

import pytest

from kafka2hive.config.keys import TableRule
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid

HEAD = """\
service: flights
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "hdfs://namenode:8020"}
hive: {url: "hive://127.0.0.1:10000"}
"""
TABLE = """\
tables:
  - table: air.flights
    topics: [flights]
    columns: {carrier: string, flight: bigint, fare: "decimal(12,2)", time_hour: timestamp}
"""
FILMS = "tables:\n  - table: air.films\n    topics: [films]\n"
"""A table to which lines are added, each indented by four blanks."""


def problems_of(text: str, **environ: str) -> list[str]:
    with pytest.raises(MapInvalid) as caught:
        load_text(text, "map.yaml", environ)
    return [problem.render("map.yaml") for problem in caught.value.problems]


def only_table(lines: str) -> TableRule:
    """Load a map whose table has the further `lines`, each `key: value`, and return the table."""
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    return load_text(HEAD + TABLE + indented, "map.yaml", {}).tables[0]


def films(lines: str) -> TableRule:
    """Load a map of FILMS and these lines, and return the table."""
    return load_text(HEAD + FILMS + lines, "map.yaml", {}).tables[0]


def table_problems(lines: str) -> list[str]:
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    return problems_of(HEAD + TABLE + indented)

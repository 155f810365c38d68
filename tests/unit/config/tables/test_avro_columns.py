"""Columns whose values Hive would read differently from Avro files are refused with the reason."""

import pytest

from kafka2hive.config.file_formats.avro import avro_faults

POSSIBLE = [
    "bigint",
    "decimal(38,10)",
    "timestamp",
    "array<struct<`end`:date,m:map<string,binary>>>",
    "struct<tinyint:int,char:string>",
]
IMPOSSIBLE = [
    ("n", "tinyint", "turns it into int"),
    ("n", "array<SMALLINT>", "turns it into int"),
    ("n", "char(4)", "declare it as string"),
    ("n", "struct<x:varchar(4)>", "declare it as string"),
    ("n", "map<int,string>", "keys of type string"),
    ("n", "array<map< bigint,int>>", "keys of type string"),
    ("2n", "int", "2n is not a valid name in Avro"),
    ("n", "struct<ä:int>", "ä is not a valid name in Avro"),
    ("n", "array<struct<userId:int>>", "userId in n has capital letters"),
]


@pytest.mark.parametrize("kind", POSSIBLE)
def test_types_that_hive_reads_unchanged_are_accepted(kind: str) -> None:
    assert list(avro_faults("Name", kind)) == []


@pytest.mark.parametrize(("name", "kind", "reason"), IMPOSSIBLE)
def test_types_that_hive_reads_differently_are_refused(name: str, kind: str, reason: str) -> None:
    (fault,) = avro_faults(name, kind)
    assert reason in fault

"""The statements that Hive is sent if the map has more or wider columns than its table, and refusals."""

from dataclasses import replace

import pytest

from kafka2hive.config.keys import Column, FileFormat
from kafka2hive.hive.check import Alterations, alter_statements, alterations
from kafka2hive.hive.description import TableDescription, TableKind
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.errors import TableError
from kafka2hive.model.hive_types import is_wider

SPEC = TableSpec(
    "air.flights",
    (
        Column("id", "bigint"),
        Column("Carrier", "string"),
        Column("at", "struct<date:string,gate:int>"),
        Column("price", "decimal(10,2)"),
    ),
    (Column("dt", "string"),),
    "hdfs://nn/t",
)
FOUND = TableDescription(
    columns=(
        Column("carrier", "varchar(2)"),
        Column("id", "int"),
        Column("old", "string"),
        Column("at", "struct<date:string>"),
    ),
    partition_columns=(Column("dt", "string"),),
    location="hdfs://nn/t",
    kind=TableKind.EXTERNAL,
    transactional=False,
    input_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
)

WIDER = [
    ("smallint", "tinyint"),
    ("int", "smallint"),
    ("bigint", "integer"),
    ("decimal(3,0)", "tinyint"),
    ("decimal(10,0)", "int"),
    ("decimal(21,2)", "bigint"),
    ("string", "bigint"),
    ("double", "float"),
    ("decimal(12,2)", "decimal(10,2)"),
    ("decimal(12,4)", "decimal(10,2)"),
    ("STRING", "decimal(10,2)"),
    ("varchar(9)", "varchar(5)"),
    ("varchar(9)", "char(5)"),
    ("char(9)", "char(5)"),
    ("string", "varchar(5)"),
    ("array<bigint>", "array<int>"),
    ("map<string,bigint>", "map<string,int>"),
    ("struct<a:bigint>", "struct<a:int>"),
    ("struct<b:string,A:int>", "struct<a:int>"),
    ("array<struct<a:int,b:int>>", "array<struct<a:int>>"),
]
NOT_WIDER = [
    *((old, new) for new, old in WIDER),
    ("double", "int"),  # Hive's vectors go by way of a float
    ("double", "bigint"),
    ("decimal(9,0)", "int"),
    ("decimal(20,2)", "bigint"),
    ("decimal(11,4)", "decimal(10,2)"),
    ("string", "double"),
    ("string", "boolean"),
    ("string", "date"),
    ("string", "timestamp"),
    ("string", "binary"),
    ("timestamp", "date"),
    ("varchar(9)", "string"),
    ("char(9)", "varchar(5)"),
    ("varchar(9)", "int"),
    ("array<varchar(9)>", "array<varchar(5)>"),
    ("struct<b:int>", "struct<a:int>"),
    ("uniontype<int,string>", "int"),
    ("string", "uniontype<int,string>"),
]


@pytest.mark.parametrize(("new", "old"), WIDER)
def test_a_wider_type_holds_every_old_value(new: str, old: str) -> None:
    assert is_wider(new, old)


@pytest.mark.parametrize(("new", "old"), NOT_WIDER)
def test_what_could_change_a_value_is_not_wider(new: str, old: str) -> None:
    assert not is_wider(new, old)


def test_columns_are_added_and_widened_in_every_partition() -> None:
    assert alter_statements(SPEC, alterations(SPEC, FOUND)) == (
        "ALTER TABLE `air`.`flights` CHANGE COLUMN `id` `id` bigint CASCADE",
        "ALTER TABLE `air`.`flights` CHANGE COLUMN `Carrier` `Carrier` string CASCADE",
        "ALTER TABLE `air`.`flights` CHANGE COLUMN `at` `at` struct<`date`:string,`gate`:int> CASCADE",
        "ALTER TABLE `air`.`flights` ADD COLUMNS (`price` decimal(10,2)) CASCADE",
    )


def test_a_table_without_partitions_is_altered_without_cascade() -> None:
    spec, found = replace(SPEC, partition_columns=()), replace(FOUND, partition_columns=())
    statements = alter_statements(spec, alterations(spec, found))
    assert len(statements) == 4 and not any("CASCADE" in statement for statement in statements)


def test_a_table_that_is_the_maps_is_sent_nothing() -> None:
    same = replace(FOUND, columns=SPEC.columns)
    assert (
        alterations(SPEC, same) == Alterations((), ()) and alter_statements(SPEC, Alterations((), ())) == ()
    )


def test_the_order_of_columns_counts_for_orc_files_and_new_ones_come_last() -> None:
    orc = replace(FOUND, input_format="org.apache.hadoop.hive.ql.io.orc.OrcInputFormat")
    first, second, third = Column("a", "int"), Column("b", "int"), Column("c", "int")

    def added(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        spec = replace(SPEC, format="orc", columns=columns)
        return alterations(spec, replace(orc, columns=(first, second))).added

    assert (
        added((first, second)) == () and added((first,)) == () and added((first, second, third)) == (third,)
    )
    for columns in ((second, first), (second,), (first, third, second)):
        with pytest.raises(TableError, match="by the order of their columns"):
            added(columns)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"columns": (*FOUND.columns, Column("price", "string"))}, "hive.columns"),
        ({"location": "hdfs://nn/elsewhere"}, "hive.location"),
        ({"partition_columns": ()}, "hive.partition_columns"),
        ({"kind": TableKind.VIEW}, "hive.not_a_table"),
        ({"input_format": "org.apache.hadoop.mapred.TextInputFormat"}, "hive.format"),
    ],
)
def test_a_table_that_differs_otherwise_is_not_altered(change: dict[str, object], code: str) -> None:
    with pytest.raises(TableError) as refused:
        alterations(SPEC, replace(FOUND, **change))  # type: ignore[arg-type]
    assert refused.value.code == code


_TEXT_FILES = "org.apache.hadoop.mapred.TextInputFormat"


@pytest.mark.parametrize(
    ("format", "serde", "input_format"),
    [
        ("text", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", _TEXT_FILES),
        ("json", "org.apache.hadoop.hive.serde2.JsonSerDe", _TEXT_FILES),
        ("avro", "", "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat"),
    ],
)
def test_columns_of_files_that_hive_was_not_seen_to_read_by_a_wider_type_are_added_and_never_widened(
    format: FileFormat, serde: str, input_format: str
) -> None:
    id_column, new = Column("id", "bigint"), Column("new", "int")
    spec = replace(SPEC, columns=(id_column, new), format=format)
    found = replace(
        FOUND,
        columns=(id_column,),
        input_format=input_format,
        serde=serde,
        serde_properties={"field.delim": ",", "escape.delim": "\\"},
        ledger="ab" * 16,
    )
    assert alterations(spec, found) == Alterations((new,), ())
    with pytest.raises(TableError, match="column id is bigint in the map, int in Hive"):
        alterations(spec, replace(found, columns=(Column("id", "int"),)))

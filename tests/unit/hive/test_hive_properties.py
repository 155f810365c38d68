"""What Hive's tables and partitions say of how their files are read, against the map."""

from dataclasses import replace

import pytest

from kafka2hive.config.keys import Column, FileFormat, TextOptions
from kafka2hive.hive.check import check_partition, check_table, check_types
from kafka2hive.hive.description import TableDescription, TableKind
from kafka2hive.hive.stored_as import STORED_AS, serde_properties
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.errors import TableError

TEXT_IN = "org.apache.hadoop.mapred.TextInputFormat"
TEXT_OUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
INPUT = {
    "parquet": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "orc": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "avro": "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat",
}
FORMATS: tuple[FileFormat, ...] = ("parquet", "orc", "avro", "json", "text")


def spec(format: FileFormat = "parquet") -> TableSpec:
    columns = (Column("id", "int"), Column("name", "string"))
    return TableSpec("d.t", columns, (Column("dt", "string"),), "hdfs://n/d/t", format=format)


def as_declared(wish: TableSpec) -> TableDescription:
    """The table that Hive makes of the map's CREATE TABLE."""
    format = wish.format
    return TableDescription(
        columns=wish.columns,
        partition_columns=wish.partition_columns,
        location=wish.location,
        kind=TableKind.EXTERNAL,
        transactional=False,
        input_format=INPUT.get(format, TEXT_IN),
        output_format=INPUT[format].replace("Input", "Output") if format in INPUT else TEXT_OUT,
        ledger="a",
        serde=STORED_AS[format].serdes[0],
        serde_properties=serde_properties(wish.text) if format == "text" else {"serialization.format": "1"},
        parameters={"EXTERNAL": "TRUE", "bucketing_version": "2", "numFiles": "0", "kafka2hive.ledger": "a"},
    )


def refusal(wish: TableSpec, table: TableDescription) -> TableError:
    with pytest.raises(TableError) as refused:
        check_table(wish, table)
    return refused.value


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_as_the_map_makes_it_has_nothing_suspect_nor_have_its_partitions(format: FileFormat) -> None:
    table = as_declared(spec(format))
    check_table(spec(format), table)
    check_partition(spec(format), "dt=1", replace(table, partition_columns=(), ledger=None, parameters={}))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("skip.header.line.count", "1"),
        ("skip.footer.line.count", "2"),
        ("serialization.encoding", "GBK"),
        ("serialization.last.column.takes.rest", "true"),
        ("timestamp.formats", "millis"),
        ("parquet.column.index.access", "true"),
        ("parquet.mr.int96.write.zone", "America/New_York"),
        ("orc.force.positional.evolution", "true"),
        ("ORC.Unheard.Of", "1"),
        ("avro.schema.url", "hdfs://n/s.avsc"),
        ("columns", "a,b"),
        ("textinputformat.record.delimiter", "|"),
        ("hive.serialization.extend.nesting.levels", "true"),
        ("mapreduce.input.fileinputformat.input.dir.recursive", "true"),
        ("storage_handler", "a.Handler"),
        ("transactional_properties", "insert_only"),
        ("projection.enabled", "true"),
        ("partition.retention.period", "7d"),
        ("table_type", "ICEBERG"),
        ("spark.sql.sources.provider", "delta"),
        ("spark.sql.sources.numBuckets", "4"),
    ],
)
def test_a_property_that_changes_what_readers_see_is_refused_by_name(
    format: FileFormat, key: str, value: str
) -> None:
    table = as_declared(spec(format))
    refused = refusal(spec(format), replace(table, parameters={**table.parameters, key: value}))
    assert refused.code == "hive.properties" and f"its TBLPROPERTIES have {key}={value!r}" in refused.message
    if key != "storage_handler":
        assert f"ALTER TABLE `d`.`t` UNSET TBLPROPERTIES ('{key}')" in refused.remedy
    in_serde = replace(table, serde_properties={**table.serde_properties, key: value})
    assert f"its SERDEPROPERTIES have {key}=" in refusal(spec(format), in_serde).message
    with pytest.raises(TableError) as of_partition:
        check_partition(spec(format), "dt=1", in_serde)
    assert of_partition.value.code == "hive.partition" and key in of_partition.value.message


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("owner.team", "x"),
        ("comment", "skip.header.line.count=1"),
        ("columnsOrdered", "true"),
        ("skip.header.line.count", "0"),
        ("serialization.encoding", "UTF-8"),
        ("parquet.column.index.access", "false"),
        ("transactional", "false"),
        ("projection.enabled", "false"),
        ("orc.compress", "ZLIB"),
        ("orc.bloom.filter.columns", "id"),
        ("parquet.compression", "SNAPPY"),
        ("impala.events.catalogVersion", "3"),
        ("trino_query_id", "a"),
        ("spark.sql.sources.provider", "parquet"),
        ("spark.sql.sources.schema.part.0", "{}"),
        ("discover.partitions", "true"),
        ("table_type", "EXTERNAL_TABLE"),
        ("STATS_GENERATED_VIA_STATS_TASK", "true"),
    ],
)
def test_a_property_that_readers_do_not_notice_is_let_pass(format: FileFormat, key: str, value: str) -> None:
    table = as_declared(spec(format))
    check_table(spec(format), replace(table, parameters={**table.parameters, key: value}))


def test_a_property_of_the_serde_that_nobody_knows_is_refused() -> None:
    table = replace(as_declared(spec("json")), serde_properties={"ignore.malformed": "true"})
    refused = refusal(spec("json"), table)
    assert refused.code == "hive.properties" and "ignore.malformed" in refused.message
    assert "UNSET SERDEPROPERTIES ('ignore.malformed')" in refused.remedy


def test_row_format_delimited_matters_only_to_delimited_text() -> None:
    delimited = {"field.delim": "|", "serialization.format": "|", "collection.delim": ":", "line.delim": "\n"}
    for format in ("parquet", "orc", "avro", "json"):
        check_table(spec(format), replace(as_declared(spec(format)), serde_properties=delimited))
    text = as_declared(spec("text"))
    check_table(spec("text"), replace(text, serde_properties={**text.serde_properties, "mapkey.delim": "="}))
    for key, value in (("field.delim", "|"), ("escape.delim", "~"), ("serialization.null.format", "")):
        for changed in (
            replace(text, serde_properties={**text.serde_properties, key: value}),
            replace(text, parameters={**text.parameters, key: value}),  # Hive lets it take precedence
        ):
            assert f"its SerDe property {key} is {value!r}" in refusal(spec("text"), changed).message


def test_hive_takes_digits_for_the_number_of_a_delimiter() -> None:
    wish = replace(spec("text"), text=TextOptions("\t", "\\", "\\N"))
    table = as_declared(wish)
    check_table(wish, replace(table, serde_properties={**table.serde_properties, "field.delim": "9"}))
    default = replace(spec("text"), text=TextOptions("\x01", "\\", "\\N"))
    ours = {key: value for key, value in serde_properties(default.text).items() if key != "field.delim"}
    check_table(default, replace(as_declared(default), serde_properties=ours | {"serialization.format": "1"}))


def test_line_ends_must_be_escaped_for_the_reader_where_a_column_may_hold_one() -> None:
    text = as_declared(spec("text"))
    without = {k: v for k, v in text.serde_properties.items() if k != "serialization.escape.crlf"}
    refused = refusal(spec("text"), replace(text, serde_properties=without))
    assert "SET SERDEPROPERTIES ('serialization.escape.crlf'='true')" in refused.remedy
    numbers = replace(spec("text"), columns=(Column("id", "int"),))
    check_table(numbers, replace(text, columns=numbers.columns, serde_properties=without))
    check_table(numbers, replace(text, columns=numbers.columns))


@pytest.mark.parametrize(
    ("clause", "statement"),
    [("clustered", "NOT CLUSTERED"), ("sorted", "NOT SORTED"), ("skewed", "NOT SKEWED")],
)
def test_a_table_in_which_hive_expects_its_own_layout_is_refused(clause: str, statement: str) -> None:
    table = as_declared(spec())
    described = {
        "clustered": replace(table, clustered="id"),
        "sorted": replace(table, sorted="id"),
        "skewed": replace(table, skewed="id"),
    }[clause]
    refused = refusal(spec(), described)
    assert refused.code == "hive.properties" and f"it is {clause} by (id)" in refused.message
    assert f"ALTER TABLE `d`.`t` {statement}" in refused.remedy


def test_a_class_that_would_read_or_write_other_files_is_refused() -> None:
    table = as_declared(spec())
    by_lazy = replace(table, serde="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe")
    assert "its rows are not read as Parquet but by" in refusal(spec(), by_lazy).message
    writes_text = replace(table, output_format=TEXT_OUT)
    assert "Hive would not write Parquet files into it" in refusal(spec(), writes_text).message


def test_a_partition_keeps_what_its_table_was_and_the_statement_that_ends_it_is_shown() -> None:
    def contradiction(wish: TableSpec, partition: TableDescription) -> TableError:
        with pytest.raises(TableError) as refused:
            check_partition(wish, "dt=1", partition)
        assert refused.value.code == "hive.partition" and "d.t partition dt=1" in refused.value.message
        return refused.value

    text, name = as_declared(spec("text")), "`d`.`t` PARTITION (`dt`='1')"
    assert f"ALTER TABLE {name} SET FILEFORMAT PARQUET" in contradiction(spec(), text).remedy
    tabs = replace(spec("text"), text=TextOptions("\t", "\\", "\\N"))
    refused = contradiction(tabs, text)
    assert "field.delim is ',', the map's '\\t'" in refused.message
    assert f"ALTER TABLE {name} SET SERDEPROPERTIES ('field.delim'='\\t')" in refused.remedy
    old = replace(as_declared(spec()), columns=(Column("id", "int"),))
    assert f"ALTER TABLE {name} ADD COLUMNS (`name` string)" in contradiction(spec(), old).remedy
    narrow = replace(as_declared(spec()), columns=(Column("id", "smallint"), Column("name", "string")))
    assert f"ALTER TABLE {name} CHANGE COLUMN `id` `id` int" in contradiction(spec(), narrow).remedy
    bucketed = contradiction(spec(), replace(as_declared(spec()), clustered="id"))
    assert "it is clustered by (id)" in bucketed.message and f"{name} NOT CLUSTERED" in bucketed.remedy
    check_partition(spec(), "dt=1", replace(as_declared(spec()), location="hdfs://n/d/t/dt=1"))


def test_columns_of_types_that_no_file_has_are_all_named() -> None:
    with pytest.raises(TableError) as refused:
        check_types(
            "d.t", (Column("id", "int"), Column("a", "map<double,string>"), Column("b", "interval_day_time"))
        )
    assert refused.value.code == "hive.columns" and "`columns`" in refused.value.remedy
    for said in ("column a is map<double,string>", "column b is interval_day_time"):
        assert said in refused.value.message
    assert "column id" not in refused.value.message
    check_types("d.t", spec().columns)

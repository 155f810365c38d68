"""Statements for Hive and its answers, without Hive: statements, descriptions, locations, errors, checks."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Column, TextOptions
from kafka2hive.hive import hiveql as hive_text
from kafka2hive.hive import hiveql as text
from kafka2hive.hive import session as errors
from kafka2hive.hive.check import check_table, same_type
from kafka2hive.hive.description import TableDescription, TableKind, parse_description
from kafka2hive.hive.metastore import batches
from kafka2hive.hive.tables import TableSpec, compared_table, create_statement, partition_columns
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable, StatementFailed
from kafka2hive.model.paths.path import same_location

PARQUET = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
WISH = TableSpec(
    "d.t", (Column("a", "int"), Column("b", "string")), (Column("dt", "string"),), "hdfs://n:8020/d/t"
)
FOUND = TableDescription(
    WISH.columns, WISH.partition_columns, WISH.location, TableKind.EXTERNAL, False, PARQUET
)

HIVE_4 = [
    ("a", "int", "its"),
    ("c", "decimal(10,2)", ""),
    ("", None, None),
    ("# Partition Information", None, None),
    ("# col_name", "data_type", "comment"),
    ("dt", "string", ""),
    ("", None, None),
    ("# Detailed Table Information", None, None),
    ("Database:           ", "d1                  ", None),
    ("Location:           ", "hdfs://127.0.0.1:8020/wh/t", None),
    ("Table Type:         ", "EXTERNAL_TABLE      ", None),
    ("Table Parameters:", None, None),
    ("", "EXTERNAL            ", "TRUE                "),
    ("", "kafka2hive.ledger   ", "abc                 "),
    ("", "transactional       ", "true                "),
    ("", None, None),
    ("# Storage Information", None, None),
    ("InputFormat:        ", PARQUET, None),
]
HIVE_2 = [
    ("# col_name            ", "data_type           ", "comment             "),
    ("", None, None),
    *HIVE_4,
]
SPARK = [
    ("a", "int", "it's"),
    ("c", "decimal(10,2)", None),
    ("dt", "string", None),
    ("# Partition Information", "", ""),
    ("# col_name", "data_type", "comment"),
    ("dt", "string", None),
    ("", "", ""),
    ("# Detailed Table Information", "", ""),
    ("Type", "EXTERNAL", ""),
    ("Table Properties", "[kafka2hive.ledger=abc, transactional=true]", ""),
    ("Location", "hdfs://127.0.0.1:8020/wh/t", ""),
    ("InputFormat", PARQUET, ""),
]


@pytest.mark.parametrize("rows", [HIVE_4, HIVE_2, SPARK], ids=["hive 4", "hive 2", "spark"])
def test_a_table_is_described_alike_by_every_server(rows: list[tuple[str | None, ...]]) -> None:
    found = parse_description(rows)
    assert found == TableDescription(
        (Column("a", "int"), Column("c", "decimal(10,2)")),
        (Column("dt", "string"),),
        "hdfs://127.0.0.1:8020/wh/t",
        TableKind.EXTERNAL,
        True,
        PARQUET,
        "abc",
        parameters=found.parameters,
    )
    assert found.parameters.items() >= {"kafka2hive.ledger": "abc", "transactional": "true"}.items()


def test_what_hive_4_makes_of_create_table_is_a_managed_table_whatever_its_type_says() -> None:
    translated = ("", "TRANSLATED_TO_EXTERNAL", "TRUE")
    at = HIVE_4.index(("", "kafka2hive.ledger   ", "abc                 "))
    assert parse_description(HIVE_4).kind is TableKind.EXTERNAL
    assert parse_description([*HIVE_4[:at], translated, *HIVE_4[at:]]).kind is TableKind.MANAGED


def test_a_partitions_own_location_wins_over_the_tables_further_down() -> None:
    rows = [
        ("a", "int", None),
        ("# Detailed Partition Information", "", ""),
        ("Location", "file:/wh/t/dt=1", ""),
        ("# Storage Information", "", ""),
        ("Location", "file:/wh/t", ""),
    ]
    assert parse_description(rows).location == "file:/wh/t/dt=1"


def _unescaped(literal: str) -> str:
    """Return what Hive's parser reads from a string literal (BaseSemanticAnalyzer.unescapeSQLString)."""
    codes = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'"}
    inner, out, at = literal[1:-1], "", 0
    while at < len(inner):
        if inner[at] == "\\":
            out, at = out + codes[inner[at + 1]], at + 2
        else:
            assert inner[at] != "'", "the literal ends here"
            out, at = out + inner[at], at + 1
    return out


@given(st.text())
def test_a_literal_is_read_back_unchanged_whatever_it_holds(value: str) -> None:
    assert _unescaped(text.literal(value)) == value


def test_names_and_values_of_a_partition_cannot_break_out_of_the_statement() -> None:
    path = "d`t=a%27; drop table x --/e=%5C"
    assert text.partition_spec(path) == r"PARTITION (`d``t`='a\'; drop table x --',`e`='\\')"


@given(
    st.lists(
        st.builds(
            HivePartition,
            st.sampled_from(["d.t", "d.u"]),
            st.sampled_from(["", "dt=__HIVE_DEFAULT_PARTITION__"])
            | st.integers(0, 900).map(lambda n: f"dt={n}"),
            st.just("hdfs://n/" + "x" * 300),
        ),
        max_size=700,
    )
)
def test_every_partition_is_added_once_in_statements_of_bounded_size(partitions: list[HivePartition]) -> None:
    found = list(batches(partitions))
    added = [partition for batch in found for partition in batch.partitions]
    assert sorted(added) == sorted({p for p in partitions if p.path})
    for batch in found:
        assert len({p.table for p in batch.partitions}) == 1 and len(batch.partitions) <= 200
        assert batch.with_default == any("DEFAULT" in p.path for p in batch.partitions)
        assert all(len(statement) < 62_000 for statement in batch.statements(if_not_exists=True))


def test_the_default_partition_is_added_in_a_session_that_calls_its_own_otherwise() -> None:
    (batch,) = batches([HivePartition("d.t", "dt=__HIVE_DEFAULT_PARTITION__", "hdfs://n/x")])
    before, add, after = batch.statements(if_not_exists=True)
    assert (
        before.startswith("SET hive.exec.default.partition.name=")
        and "__HIVE_DEFAULT_PARTITION__" not in before
    )
    assert add == (
        "ALTER TABLE `d`.`t` ADD IF NOT EXISTS PARTITION (`dt`='__HIVE_DEFAULT_PARTITION__') LOCATION 'hdfs://n/x'"
    )
    assert after == "SET hive.exec.default.partition.name=__HIVE_DEFAULT_PARTITION__"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("hdfs://nn/x", "hdfs://NN:8020/x/"),
        ("file:/x/y", "file:///x//y"),
        ("/x", "hdfs://nn/x"),
        ("hdfs://nn:9000/dt=a%27b", "hdfs://nn:9000/dt=a%27b"),
    ],
)
def test_one_directory_has_many_spellings(a: str, b: str) -> None:
    assert same_location(a, b) and same_location(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("hdfs://nn/x", "hdfs://nn:9000/x"),
        ("hdfs://nn/x", "hdfs://other/x"),
        ("hdfs://nn/x", "s3a://nn/x"),
        ("hdfs://nn/x", "hdfs://nn/X"),
        ("hdfs://nn/x%2Fy", "hdfs://nn/x/y"),
    ],
)
def test_other_directories_are_told_apart(a: str, b: str) -> None:
    assert not same_location(a, b) and not same_location(b, a)


@pytest.mark.parametrize(
    ("state", "code", "message", "kind"),
    [
        (
            "42S02",
            10001,
            "FAILED: SemanticException [Error 10001]: Table not found d1.nope",
            MetastoreRefused,
        ),
        ("42P01", 0, "[TABLE_OR_VIEW_NOT_FOUND] org.apache.spark.sql.AnalysisException", MetastoreRefused),
        (
            "08S01",
            40000,
            "return code 40000 from DDLTask. partition spec is invalid; field dt is empty",
            MetastoreRefused,
        ),
        ("08S01", 1, "return code 1 from DDLTask. AlreadyExistsException(message:..)", MetastoreRefused),
        ("42000", 40000, "HiveAccessControlException Permission denied: user [me]", MetastoreRefused),
        (
            "42000",
            40000,
            "SemanticException Unable to instantiate ..SessionHiveMetaStoreClient",
            MetastoreUnavailable,
        ),
        (
            "08S01",
            1,
            "return code 1 from DDLTask. TTransportException: Connection refused",
            MetastoreUnavailable,
        ),
        ("08S01", 1, "return code 1 from DDLTask. NameNode is in SafeModeException", MetastoreUnavailable),
        (None, 0, None, StatementFailed),
        ("08S01", 40000, "MetaException(message:JDODataStoreException: Exception thrown", StatementFailed),
    ],
)
def test_errors_are_sorted_by_what_a_caller_can_do(
    state: str | None, code: int, message: str | None, kind: type[Exception]
) -> None:
    status = SimpleNamespace(sqlState=state, errorCode=code, errorMessage=message)
    found = errors.from_status(status, "ALTER TABLE t ..")
    assert type(found) is kind and "ALTER TABLE t" in str(found)


def test_a_table_is_made_external_and_keeps_its_files_when_dropped() -> None:
    wish = TableSpec(
        "d.t", (Column("a", "int"),), partition_columns("dt=%Y/c={a}"), "hdfs://n/d/t", "it's ours"
    )
    assert create_statement(wish, "led") == (
        r"CREATE EXTERNAL TABLE IF NOT EXISTS `d`.`t` (`a` int) COMMENT 'it\'s ours' PARTITIONED BY (`dt` string, `c` string)"
        " STORED AS PARQUET LOCATION 'hdfs://n/d/t' TBLPROPERTIES ('kafka2hive.ledger'='led', 'external.table.purge'='false')"
    )


def test_struct_fields_that_are_words_of_hiveql_are_quoted() -> None:
    wish = TableSpec("d.t", (Column("s", "struct<date:int>"),), (), "hdfs://n/d/t")
    assert "(`s` struct<`date`:int>) STORED" in create_statement(wish, "led")


def test_a_table_as_the_map_wants_it_passes() -> None:
    check_table(WISH, FOUND)


def test_a_table_of_the_maps_format_is_made_and_taken() -> None:
    wish = replace(WISH, format="orc")
    assert " STORED AS ORC LOCATION " in create_statement(wish, "led")
    assert compared_table(wish).format == "orc"
    check_table(wish, replace(FOUND, input_format="org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"))
    with pytest.raises(
        TableError, match=r"does not hold ORC files but is read by .*MapredParquet"
    ) as refused:
        check_table(wish, replace(FOUND, input_format=PARQUET))
    assert refused.value.code == "hive.format"


def test_a_table_of_avro_that_others_made_has_no_structs_whose_letters_nobody_knows() -> None:
    made = replace(FOUND, input_format="org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat")
    wish = replace(WISH, format="avro")
    assert " STORED AS AVRO LOCATION " in create_statement(wish, "led")
    check_table(wish, made)
    nested = Column("place", "array<struct<x:int>>")
    wish = replace(wish, columns=(*wish.columns, nested))
    made = replace(made, columns=(*made.columns, nested))
    check_table(wish, replace(made, ledger="led"))
    with pytest.raises(TableError, match=r"place holds a struct: .* would read NULL") as refused:
        check_table(wish, made)
    assert refused.value.code == "hive.format"
    check_table(replace(wish, format="parquet"), replace(made, input_format=PARQUET))


def test_a_table_of_lines_is_known_by_the_class_that_reads_its_rows() -> None:
    wish = replace(WISH, format="json")
    assert (
        " ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.JsonSerDe' STORED AS TEXTFILE LOCATION "
        in create_statement(wish, "led")
    )
    lines = replace(FOUND, input_format="org.apache.hadoop.mapred.TextInputFormat")
    for serde in ("org.apache.hadoop.hive.serde2.JsonSerDe", "org.apache.hive.hcatalog.data.JsonSerDe"):
        check_table(wish, replace(lines, serde=serde))
    with pytest.raises(TableError, match="its rows are not read as JSON but by") as refused:
        check_table(wish, replace(lines, serde="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"))
    assert refused.value.code == "hive.format"


def test_a_table_of_delimited_text_has_the_maps_delimiter_escape_and_null() -> None:
    wish = replace(WISH, format="text", text=TextOptions("\t", "\\", "NULL"))
    statement = create_statement(wish, "led")
    assert f"LazySimpleSerDe' WITH SERDEPROPERTIES ('field.delim'={hive_text.literal(chr(9))}, " in statement
    assert r"'escape.delim'='\\', 'serialization.null.format'='NULL'" in statement
    assert compared_table(wish).format != compared_table(replace(wish, text=TextOptions())).format
    as_hive_shows = [
        ("a", "int", ""),
        ("# Storage Information", None, None),
        ("SerDe Library:      ", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", None),
        ("InputFormat:        ", "org.apache.hadoop.mapred.TextInputFormat", None),
        ("Storage Desc Params:", None, None),
        ("", "escape.delim        ", "\\\\                  "),
        ("", "field.delim         ", "\\t                  "),
        ("", "serialization.null.format", "NULL                "),
        ("", "serialization.escape.crlf", "true                "),
    ]
    found = parse_description(as_hive_shows)
    lines = replace(FOUND, input_format=found.input_format, serde=found.serde)
    check_table(wish, replace(lines, serde_properties=found.serde_properties))
    for key, other in (("field.delim", ","), ("escape.delim", "~"), ("serialization.null.format", "")):
        changed = replace(lines, serde_properties=dict(found.serde_properties) | {key: other})
        with pytest.raises(TableError, match=f"its SerDe property {key} is '{other}'") as refused:
            check_table(wish, changed)
        assert refused.value.code == "hive.format"
    with pytest.raises(TableError, match=r"its SerDe property escape\.delim is None"):
        check_table(replace(wish, text=TextOptions("\x01")), lines)


def test_more_columns_in_hive_than_in_the_map_are_fine() -> None:
    check_table(
        TableSpec(WISH.table, (Column("A", "INTEGER"),), WISH.partition_columns, WISH.location), FOUND
    )


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"transactional": True}, "hive.transactional", "ACID"),
        ({"kind": TableKind.VIEW, "location": None}, "hive.not_a_table", "view"),
        ({"kind": TableKind.MANAGED}, "hive.managed", "DROP TABLE would delete"),
        (
            {"input_format": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"},
            "hive.format",
            "OrcInputFormat",
        ),
        ({"location": "hdfs://n:8020/elsewhere"}, "hive.location", "hdfs://n:8020/elsewhere"),
        ({"input_format": "org.apache.hadoop.mapred.TextInputFormat"}, "hive.format", "TextInputFormat"),
        ({"partition_columns": (Column("day", "string"),)}, "hive.partition_columns", "(day)"),
        ({"columns": (Column("a", "int"),)}, "hive.columns", "no column b string"),
    ],
)
def test_a_table_that_cannot_be_fed_is_refused_with_the_reason(
    change: dict[str, object], code: str, says: str
) -> None:
    values = {name: getattr(FOUND, name) for name in TableDescription.__slots__}
    with pytest.raises(TableError) as refused:
        check_table(WISH, TableDescription(**(values | change)))
    assert refused.value.code == code and says in str(refused.value) and refused.value.remedy


def test_columns_that_differ_come_with_a_statement_only_if_hive_takes_it() -> None:
    def advice(ours: str, hives: str) -> str:
        wish = replace(WISH, columns=(Column("a", ours),))
        with pytest.raises(TableError) as refused:
            check_table(wish, replace(FOUND, columns=(Column("a", hives),)))
        assert refused.value.code == "hive.columns"
        return refused.value.remedy

    assert advice("bigint", "int").startswith(
        "ALTER TABLE `d`.`t` CHANGE COLUMN `a` `a` bigint CASCADE in Hive"
    )
    assert "ALTER" not in advice("tinyint", "boolean") and "the map's columns" in advice("tinyint", "boolean")
    with pytest.raises(TableError) as refused:
        check_table(WISH, replace(FOUND, columns=(Column("a", "int"),)))
    assert "ADD COLUMNS (`b` string) CASCADE in Hive" in refused.value.remedy


@pytest.mark.parametrize(
    ("template", "hive_type", "fits"),
    [
        ("%Y-%m-%d", "string", True),
        ("%Y-%m-%d", "varchar(10)", True),
        ("{b}", "char(3)", True),
        ("%Y-%m-%d", "date", True),
        ("%Y-%m", "date", False),
        ("%Y%m%d", "date", False),
        ("%Y-%m-%d", "int", False),
        ("%Y", "int", True),
        ("%m", "INTEGER", True),
        ("%Y%m%d", "int", True),
        ("%Y", "tinyint", False),
        ("%Y%m%d%H%M", "int", False),
        ("%Y%m%d%H%M", "bigint", True),
        ("{a}", "int", True),
        ("{b}", "int", False),
        ("x{a}", "int", False),
        ("{a}", "bigint", False),
        ("%Y", "decimal(4,0)", False),
        ("%Y", "double", False),
        ("%Y", "float", False),
        ("1", "boolean", False),
        ("%Y-%m-%d", "timestamp", False),
    ],
)
def test_a_partition_column_that_cannot_hold_the_bucket_is_refused(
    template: str, hive_type: str, fits: bool
) -> None:
    wish = replace(WISH, bucket_path=f"dt={template}")
    found = replace(FOUND, partition_columns=(Column("DT", hive_type),))
    if fits:
        check_table(wish, found)
        return
    with pytest.raises(TableError) as refused:
        check_table(wish, found)
    assert refused.value.code == "hive.partition_columns"
    assert hive_type in str(refused.value) and template in str(refused.value)


def test_a_partition_column_of_unknown_values_must_hold_any_text() -> None:
    with pytest.raises(TableError, match="cannot hold any text"):
        check_table(WISH, replace(FOUND, partition_columns=(Column("dt", "int"),)))


def test_every_difference_of_the_columns_is_listed() -> None:
    found = TableDescription((Column("a", "bigint"),), (), WISH.location, TableKind.EXTERNAL, False, PARQUET)
    with pytest.raises(TableError) as refused:
        check_table(WISH, found)
    assert "column a is int in the map, bigint in Hive" in str(refused.value)
    assert "no column b string" in str(refused.value) and "by (dt)" in str(refused.value)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("decimal", "decimal(10,0)"),
        ("decimal(5)", "DECIMAL(5, 0)"),
        ("array< struct<`k`:string, v:integer> >", "array<struct<k:string,v:int>>"),
        ("numeric(4,2)", "decimal(4,2)"),
    ],
)
def test_one_type_has_many_spellings(a: str, b: str) -> None:
    assert same_type(a, b)


def test_other_types_are_told_apart() -> None:
    assert not same_type("decimal(10,2)", "decimal(10,0)") and not same_type("varchar(5)", "string")

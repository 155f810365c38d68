"""The map is loaded to frozen values, or refused with all its mistakes, each with its line."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka2hive.config.keys import (
    BucketTime,
    Column,
    Flush,
    Limits,
    MetadataColumn,
    Metrics,
    SparkOptions,
    StartKind,
    Tombstones,
    WriterOptions,
)
from kafka2hive.config.keys.units import MIB
from kafka2hive.config.load import load_map, load_text
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.model.errors import ConfigError, ExitCode
from tests.harness.map_text import HEAD, TABLE, only_table, problems_of, table_problems


def test_the_smallest_map_gets_every_default() -> None:
    service = load_text(HEAD + TABLE, "map.yaml", {"XDG_RUNTIME_DIR": "/run/user/1"})
    assert service.storage.ledger_root == "hdfs://namenode:8020/kafka2hive"
    assert service.kafka.group == "kafka2hive-flights"
    assert service.hive is not None and service.hive.server is not None
    server = service.hive.server
    assert (server.host, server.port, server.auth) == ("127.0.0.1", 10000, "NONE")
    assert service.dead_letters.table == "air.flights_dead_letters"
    assert service.dead_letters.location == "hdfs://namenode:8020/warehouse/air.db/flights_dead_letters"
    assert service.run_directory == "/run/user/1/kafka2hive-flights"
    assert (service.limits, service.metrics, service.spark) == (Limits(), Metrics(), SparkOptions())
    assert service.trigger_seconds == 10.0
    table = service.tables[0]
    assert table.location == "hdfs://namenode:8020/warehouse/air.db/flights"
    assert table.columns[2] == Column("fare", "decimal(12,2)")
    assert (table.start.kind, table.tombstones, table.create) == (StartKind.LATEST, Tombstones.SKIP, True)
    assert (table.bucketing.time, table.bucketing.path) == (BucketTime.RECORD, "dt=%Y-%m-%d")
    assert (table.writer, table.flush, table.dead_letter_share) == (WriterOptions(), Flush(), 0.1)
    assert (table.zone, table.bucketing.zone, table.metadata, table.format) == ("UTC", "UTC", (), "json")
    assert table.line == 6


def test_all_mistakes_of_a_map_are_reported_at_once_with_their_lines() -> None:
    text = """\
service: fli ghts
kafka: {boostrap.servers: "x:1", auto.offset.reset: earliest}
storage: {uri: "hdfs:///x", warehose: 1}
trigger: 10
limits: {epoch_bytes: 12 MBs}
defaults:
  zone: Europe/Berln
tables:
  - table: air.flights
    topics: [flights, flights]
    columns: {carrier: strng, hour: timestamp, Carrier: int}
    bucket: {field: huor, path: "dt=%Y-%Q"}
    tombstones: wrte
  - table: air.{nam}
    pattern: "x(?P<name>a)"
    columns: {a: int}
    start: {timestamp: 2013-01-01}
    writer: {compression: lz4, level: 3}
"""
    found = problems_of(text)
    starts = [
        "map.yaml:1: service: expected letters, digits, _ and -",
        "map.yaml:2: kafka.bootstrap.servers: is required",
        "map.yaml:2: kafka.boostrap.servers: not a property of librdkafka (did you mean bootstrap.servers?)",
        "map.yaml:2: kafka.auto.offset.reset: must not be set: use `start`",
        "map.yaml:3: storage.uri: hdfs:// needs a NameNode's host:port or a nameservice",
        "map.yaml:3: storage.warehose: unknown key (did you mean warehouse?)",
        "map.yaml:4: trigger: expected a duration with its unit",
        "map.yaml:5: limits.epoch_bytes: expected a size such as 128MiB",
        "map.yaml:7: defaults.zone: unknown time zone Europe/Berln (did you mean Europe/Berlin?)",
        "map.yaml:10: tables[0].topics[1]: the topic flights is repeated",
        "map.yaml:11: tables[0].columns.carrier: type 'strng', character 1: unknown type 'strng' (did you mean string?)",
        "map.yaml:11: tables[0].columns.Carrier: the column is repeated (Hive ignores case)",
        "map.yaml:12: tables[0].bucket.field: huor is not a column of the table (did you mean hour?)",
        "map.yaml:12: tables[0].bucket.path: %Q is not supported",
        "map.yaml:13: tables[0].tombstones: expected skip or write (did you mean write?)",
        "map.yaml:14: tables[1].table: the pattern has no group nam; its groups: 1, name (did you mean name?)",
        "map.yaml:17: tables[1].start.timestamp: expected a time with a time zone",
        "map.yaml:18: tables[1].writer.level: lz4 has no levels",
    ]
    assert len(found) == len(starts), "\n".join(found)
    for line, start in zip(found, starts, strict=True):
        assert line.startswith(start)


def test_a_refused_map_ends_with_the_exit_code_of_a_wrong_map() -> None:
    with pytest.raises(MapInvalid) as caught:
        load_text("service: x\n", "map.yaml", {})
    assert caught.value.exit_code is ExitCode.CONFIG
    assert "map.yaml has 3 mistakes" in str(caught.value)
    assert "map.yaml:1: kafka: is required" in str(caught.value)


def test_a_file_that_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the map .*: No such file"):
        load_map(str(tmp_path / "none.yaml"), {})
    (tmp_path / "latin.yaml").write_bytes(b"service: \xe4\n")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load_map(str(tmp_path / "latin.yaml"), {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "map.yaml:1: the map is empty"),
        ("null", "map.yaml:1: the map is empty"),
        ("just a text\n", "map.yaml:1: expected keys with values"),
        ("- a\n- b\n", "map.yaml:1: expected keys with values"),
        ("service: [x\n", "map.yaml:2: not YAML"),
        ("a: 1\nb: *c\n", "map.yaml:2: not YAML"),
        ("a: \x01\n", "not YAML: a character"),
        ("a:\n\tb: 1\n", "map.yaml:2: not YAML: a tab is not allowed here: indent with spaces"),
        ("a: " + "[" * 100_000 + "]" * 100_000, "is nested more than 20 deep"),
        (
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 999)),
            "nested more than 20 deep",
        ),
        ("kafka: {1: 2}", "map.yaml:1: kafka.1: not a property of librdkafka"),
        ("storage: {uri: 'hdfs://[x'}", "map.yaml:1: storage.uri: expected a full path"),
        (
            "kafka: {security.protocol: SSLL}",
            "kafka.security.protocol: expected plaintext, ssl, sasl_plaintext, sasl_ssl (did you mean ssl?)",
        ),
        (
            "kafka: {fetch.min.bytes: 0}",
            "map.yaml:1: kafka.fetch.min.bytes: expected a number from 1 to 100000000",
        ),
        (
            "kafka: {debug: foo}",
            "map.yaml:1: kafka.debug: expected one or several of generic, broker, topic,",
        ),
        ("kafka: {fetch.wait.max.ms: abc}", "kafka.fetch.wait.max.ms: expected a number from 0 to 300000"),
        ("kafka: {queued.min.messages: x}", "kafka.queued.min.messages: expected a"),
        (
            "tables: [{table: a.b, topics: [t], columns: {price: decimal(10,2)}}]",
            "map.yaml:1: tables[0].columns['2)']: is the end of the type before it",
        ),
        (
            "tables: [{table: a.b, topics: [t], columns: {m: map<string,int>}}]",
            "quote types that hold a comma",
        ),
        ("a: &a [*a]\n", "map.yaml:1: a[0]: an alias is inside its own anchor"),
    ],
)
def test_a_text_that_is_not_a_map_is_refused_with_its_line(text: str, message: str) -> None:
    assert any(message in line for line in problems_of(text))


def test_a_parser_error_shows_no_part_of_the_text() -> None:
    assert "hunter2" not in "".join(problems_of("kafka: {sasl.password: *hunter2}\n"))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("columns: {carrier: no}", "YAML reads `no` as false: put it in quotes"),
        ("columns: {on: string}", "YAML reads `on` as true: put it in quotes"),
        ("topics: [0123]", "YAML reads `0123` as a number in another notation"),
        ("topics: [12:30]", "YAML reads `12:30` as a number in another notation"),
        ("topics: [0x1F]", "YAML reads `0x1F` as a number in another notation"),
        ("topics: [2013]", "expected a string; put it in quotes"),
        ("columns: {<<: {a: int}}", "merge keys (<<) are not supported"),
        ("columns: {a: !!binary aGk=}", "YAML tags are not supported"),
        ("columns: {a: }", "has no value"),
    ],
)
def test_the_traps_of_yaml_are_reported_not_guessed(written: str, message: str) -> None:
    key = written.split(":")[0]
    rest = {"topics": "topics: [x]", "columns": "columns: {a: int}"}
    lines = "".join(f"    {written if name == key else other}\n" for name, other in rest.items())
    found = problems_of(f"{HEAD}tables:\n  - table: a.b\n{lines}")
    assert len(found) == 1
    assert message in found[0]
    assert f"map.yaml:{7 if key == 'topics' else 8}:" in found[0]


def test_a_repeated_key_names_both_lines() -> None:
    found = problems_of(HEAD + "service: again\n" + TABLE)
    assert found == ["map.yaml:5: service: the key is repeated (first in line 1)"]


def test_aliases_that_explode_are_refused_quickly() -> None:
    levels = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    assert any("more than 200000 values" in line for line in problems_of(levels))


def test_a_timestamp_in_a_text_stays_a_text() -> None:
    start = only_table("start: {timestamp: 2013-01-01T00:00:00+01:00}").start
    assert (start.kind, start.timestamp_ms) == (StartKind.TIMESTAMP, 1356994800000)


def test_environment_variables_stand_for_themselves_in_any_value() -> None:
    text = (HEAD + TABLE).replace("namenode:8020", "${NAMENODE}:8020").replace("127.0.0.1:9092", "${A},${B}")
    service = load_text(text, "map.yaml", {"NAMENODE": "nn", "A": "a:1", "B": "b:2"})
    assert service.storage.uri == "hdfs://nn:8020"
    assert dict(service.kafka.properties)["bootstrap.servers"] == "a:1,b:2"
    assert load_text(text.replace("${A},${B}", "$${A}"), "m", {"NAMENODE": "n"}).kafka.properties == (
        ("bootstrap.servers", "${A}"),
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${NOPE}", "map.yaml:2: kafka.bootstrap.servers: the environment variable NOPE is not set"),
        ("${NO PE}", "expected ${NAME}"),
        ("${NOPE", "expected ${NAME}"),
    ],
)
def test_a_variable_that_is_not_set_is_a_mistake_with_its_line(value: str, message: str) -> None:
    assert message in problems_of((HEAD + TABLE).replace("127.0.0.1:9092", value))[0]


def test_a_secret_is_read_from_its_file_without_the_last_line_break(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    text = f"{HEAD}{TABLE}".replace('9092"}', f'9092", sasl.password: "file:{tmp_path}/password"}}')
    service = load_text(text, "map.yaml", {})
    assert dict(service.kafka.properties)["sasl.password"] == "hunter2"
    missing = problems_of(text.replace("/password", "/nothing"))
    assert missing == [
        "map.yaml:2: kafka.sasl.password: cannot read the file that this value names: No such file or directory"
    ]


def test_the_fingerprint_is_that_of_the_text_without_secrets() -> None:
    text = (HEAD + TABLE).replace('9092"}', '9092", sasl.password: "${P}"}')
    one, other = (load_text(text, "m", {"P": secret}) for secret in ("hunter2", "hunter3"))
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 64
    assert load_text(text + "# note\n", "m", {"P": "x"}).fingerprint != one.fingerprint


def test_defaults_apply_to_every_table_that_does_not_override_them() -> None:
    text = f"""{HEAD}
defaults: {{source: binlog, flush: {{interval: 5m, bytes: 1MB}}, zone: Europe/Berlin}}
{TABLE}    flush: {{interval: 500ms}}
  - {{table: air.planes, topics: [planes], columns: {{a: int}}, start: latest}}
"""
    flights, planes = load_text(text, "m", {}).tables
    assert flights.flush == Flush(0.5, 128 * 1024 * 1024)
    assert planes.flush == Flush(300.0, 1_000_000, min_bytes=1_000_000)
    assert (flights.start.kind, planes.start.kind) == (StartKind.EARLIEST, StartKind.LATEST)
    assert flights.bucketing.zone == "Europe/Berlin"


def test_flush_auto_is_short_for_a_longest_interval() -> None:
    text = f"""{HEAD}
defaults: {{flush: auto}}
{TABLE}    flush: {{max_interval: 10m}}
  - {{table: air.planes, topics: [planes], columns: {{a: int}}}}
  - {{table: air.small, topics: [planes], columns: {{a: int}}, flush: {{max_interval: 1h, bytes: 8MiB}}}}
"""
    flights, planes, small = load_text(text, "m", {}).tables
    assert flights.flush == planes.flush == Flush(60.0, 128 * MIB, 600.0, 16 * MIB)
    assert small.flush == Flush(60.0, 8 * MIB, 3600.0, 8 * MIB)


def test_a_raw_table_needs_no_columns() -> None:
    text = f"{HEAD}tables:\n  - {{table: a.b, topics: [x], format: raw}}\n"
    assert load_text(text, "m", {}).tables[0].columns == (Column("value", "binary"),)


def test_a_table_without_columns_is_read_from_hive_and_not_created() -> None:
    text = f"{HEAD}tables:\n  - {{table: a.b, topics: [x]}}\n"
    assert load_text(text, "m", {}).tables[0].create is False
    without_hive = text.replace('hive: {url: "hive://127.0.0.1:10000"}', "")
    assert "no hive section to read them from" in problems_of(without_hive)[0]


def test_metadata_columns_are_named_by_kind_or_by_the_map() -> None:
    assert only_table("metadata: [topic, offset]").metadata == (
        (MetadataColumn.TOPIC, "kafka_topic"),
        (MetadataColumn.OFFSET, "kafka_offset"),
    )
    assert only_table("metadata: {offset: pos}").metadata == ((MetadataColumn.OFFSET, "pos"),)


def test_explicit_offsets_are_kept_per_topic_and_number() -> None:
    start = only_table("start: {offsets: {flights: {1: 7, 0: 5}}}").start
    assert start.offsets == (("flights", 0, 5), ("flights", 1, 7))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("bucket: {field: nope}", "nope is not a column of the table"),
        ("bucket: {field: carrier}", "carrier is string; an event time is a timestamp, a date or a bigint"),
        (
            "bucket: {field: time_hour, unit: s}",
            "is used only with a bigint field, but time_hour is timestamp",
        ),
        ("bucket: {time: event}", "time event needs a field"),
        ("bucket: {time: record, field: time_hour}", "is not used with time record"),
        ('bucket: {field: time_hour, path: ""}', "is not used: the path has no time code"),
        ('bucket: {path: "dt=%Y/%m"}', "each part must be name=value, found '%m'"),
        ('bucket: {path: "Dt=%Y"}', "'Dt' is not a valid name of a partition column"),
        ('bucket: {path: "d=%Y/d=%m"}', "the partition column d is repeated"),
        ('bucket: {path: "d={carier}"}', "{carier} is not a column of the table (did you mean carrier?)"),
        ('bucket: {path: "d={fare}"}', "{fare} is decimal(12,2); a bucket's path takes"),
        ('bucket: {path: "d={carrier"}', "a single {"),
        ('bucket: {path: "flight=%Y"}', "the partition column flight is also a column of the table"),
        ("metadata: {topic: dt}", "the partition column dt is also a metadata column of the table"),
        ("metadata: {topic: Carrier}", "the table already has a column Carrier"),
        ("metadata: {topic: a, offset: A}", "the name A is repeated"),
        ("metadata: {ofset: a}", "did you mean offset?"),
        (
            "metadata: [tpic]",
            "expected topic, partition, offset, timestamp, key, headers, ordinal or mask_key (did you mean topic?)",
        ),
        (
            "tombstones: write\nbucket: {field: time_hour}",
            "the event time comes from the value, which a tombstone lacks",
        ),
        (
            "tombstones: write\nbucket: {path: 'c={carrier}'}",
            "bucket.path takes {carrier} from the value, which a tombstone lacks",
        ),
        ("start: {offsets: {flights: {a: 1}}}", "expected a whole number"),
        ("pattern: fl.*", "has topics and pattern: keep one"),
        ("start: newest", "expected earliest or latest"),
        ("start: lates", "did you mean latest?"),
        ("start: {timestamp: 2013-01-01T00:00:00}", "expected a time with a time zone"),
        ("start: {offsets: {flight: {0: 1}}}", "the table has no topic flight (did you mean flights?)"),
        ("start: {offsets: {flights: {0: -1}}}", "greater than or equal to 0"),
        ("start: {}", "needs exactly one of timestamp and offsets"),
        ("format: raw", "a raw table has exactly one column for the value, binary or string"),
        ("writer: {compression: zstd, level: 23}", "zstd has levels 1 to 22"),
        ("writer: {format: json, compression: snappy}", "must be gzip, zstd or none for format json"),
        ("writer: {format: json, bloom_filter: [carrier]}", "bloom_filter: is an option of Parquet files"),
        ("writer: {format: json, level: 10}", "gzip has levels 1 to 9"),
        (
            "writer: {format: text}\nmetadata: [headers]",
            "holds a single value, but kafka_headers is nested",
        ),
        ("writer: {text: {delimiter: ;}}", "text: is an option of delimited text files"),
        ("writer: {format: text, text: {delimiter: ab}}", "expected a tab, another control character"),
        ("writer: {format: text, text: {escape: a}}", "expected one of"),
        ("writer: {format: text, text: {delimiter: ^, escape: ^}}", "delimiter and escape must differ"),
        ("writer: {format: text, text: {null_text: 'a,b'}}", "must not contain the delimiter"),
        ("writer: {format: orc, page_index: true}", "page_index: is an option of Parquet files"),
        ("writer: {format: orc, timestamps: int96}", "timestamps: is an option of Parquet and Avro files"),
        (
            "writer: {format: avro}",
            "timestamps: Hive reads timestamps of Avro files as milliseconds: write millis",
        ),
        (
            "writer: {format: avro, timestamps: int96}",
            "write millis; finer timestamps become dead letters",
        ),
        (
            "writer: {format: avro, timestamps: millis, compression: lz4}",
            "must be gzip, zstd, snappy or none for format avro",
        ),
        ("writer: {format: avro, timestamps: millis, page_index: true}", "is an option of Parquet files"),
        ("writer: {sorted_by: [carier]}", "carier is not a column of the files (did you mean carrier?)"),
        ("writer: {sorted_by: [carrier, carrier]}", "carrier is repeated"),
        (
            "writer: {bloom_filter: [kafka_headers]}\nmetadata: [headers]",
            "only columns with one value per row",
        ),
        ("writer: {dictionary: {dt: true}}", "dt is not a column of the files"),
        ("writer: {dictionary: {carrier: yes please}}", "expected true or false"),
        (
            "location: hdfs://other:8020/x",
            "must be on hdfs://namenode:8020 (storage.uri), found hdfs://other:8020",
        ),
        ("location: file:///x", "must be on hdfs://namenode:8020 (storage.uri), found file://"),
        ("location: /x/y", "did you mean hdfs://namenode:8020/x/y?"),
        ("location: hdfs://namenode:8020/x/../y", "must not have empty, . or .. steps"),
        ("location: hdfs://namenode:8020/{bd}", "{bd} is unknown here"),
        ("location: hdfs://namenode:8020/kafka2hive/x", "lies within that of the ledgers"),
        ("zone: Nowhere", "unknown time zone Nowhere"),
        ("dead_letter_share: 1.5", "less than or equal to 1"),
        ("flush: {interval: 60}", "expected a duration with its unit"),
        ("flush: {interval: 0s}", "greater than 0"),
        ("flush: 60s", "expected auto, or keys with values"),
        (
            "flush: {interval: 1m, max_interval: 30s}",
            "flush.max_interval: is less than interval, which is 60s",
        ),
        ("flush: {min_bytes: 4MiB}", "flush.min_bytes: is used only with max_interval"),
        (
            "flush: {max_interval: 5m, min_bytes: 1GiB}",
            "flush.min_bytes: is more than bytes, which is 128MiB",
        ),
        ("objective: {freshness: 60s}", "records may wait for 60s before an epoch is due"),
        ("flush: auto\nobjective: {freshness: 5m}", "records may wait for 600s before an epoch is due"),
        ("objective: {freshness: 5m, share: 99}", "expected a number from 0.5 to 0.9999"),
        ("objective: {share: 0.9}", "objective.freshness: is required"),
        ("counts: {window: 7m}", "counts.window: must divide a day and be at least 1m"),
        ("counts: {window: 30s}", "counts.window: must divide a day and be at least 1m"),
        ("counts: {window: 2d}", "counts.window: must divide a day and be at least 1m"),
        ("counts: {}\nsql: SELECT * FROM records", "counts: cannot be used with sql"),
        ("create: 1", "expected true or false"),
        ("compact: {at: 1-6}", "expected a part of the day such as 01:00-06:00"),
        ("compact: {at: '06:00-06:00'}", "begin and end must differ"),
        ("compact: {share: 1.5}", "less than or equal to 1"),
    ],
)
def test_keys_of_a_table_that_contradict_each_other_are_refused(lines: str, message: str) -> None:
    found = table_problems(lines)
    assert len(found) == 1, found
    assert message in found[0]


@pytest.mark.parametrize(
    ("writer", "codec"),
    [
        ("format: parquet", "zstd"),
        ("format: orc", "zstd"),
        ("format: avro, timestamps: millis", "gzip"),
        ("format: json", "gzip"),
        ("format: text", "gzip"),
        ("format: text, compression: none", "none"),
    ],
)
def test_files_are_compressed_by_a_codec_that_every_hive_reads_in_their_format(
    writer: str, codec: str
) -> None:
    assert only_table(f"writer: {{{writer}}}").writer.compression == codec


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "{table: flights, topics: [x], columns: {a: int}}",
            "expected db.table, for example default.flights",
        ),
        ("{table: a.b.c, topics: [x], columns: {a: int}}", "exactly one dot"),
        ("{table: 'a.{1}', topics: [x], columns: {a: int}}", "but the table has topics"),
        ("{table: 'a.{2}', pattern: 'x(.)', columns: {a: int}}", "the pattern has no group 2; its groups: 1"),
        ("{table: a.b, pattern: 'x(', columns: {a: int}}", "not a regular expression: missing )"),
        ("{table: a.b, topics: ['x.*'], columns: {a: int}}", "a regular expression belongs in `pattern`"),
        ("{table: a.b, columns: {a: int}}", "needs topics or pattern"),
        ("{table: a.b, topics: [], columns: {a: int}}", "must not be empty"),
        ("{table: a.b, topics: [x], create: true}", "columns are required to create it"),
        (
            "{table: 'a.{1}', pattern: '(.)', columns: {a: int}, location: 'hdfs://namenode:8020/x'}",
            "must contain {table}",
        ),
        (
            "{table: air.flights_dead_letters, topics: [x], columns: {a: int}}",
            "is already the dead-letter table",
        ),
        ("{table: AIR.Flights, topics: [x], columns: {a: int}}", "is already the table of tables[0]"),
        (
            "{table: a.b, topics: [x], columns: {a: int}, location: 'hdfs://namenode:8020/warehouse/air.db/flights/b'}",
            "the directory of a.b lies within that of air.flights",
        ),
    ],
)
def test_an_impossible_table_is_refused(table: str, message: str) -> None:
    found = problems_of(f"{HEAD}{TABLE}  - {table}\n")
    assert len(found) == 1, found
    assert message in found[0]


@pytest.mark.parametrize(
    ("line", "other", "message"),
    [
        (
            "kafka",
            "{bootstrap.servers: 'x:1', group.instance.id: a}",
            "must not be set: topic partitions are assigned",
        ),
        ("kafka", "{bootstrap.servers: 'x:1', isolation.level: read_uncommitted}", "must be read_committed"),
        (
            "kafka",
            "{bootstrap.servers: 'x:1', sasl.pasword: a}",
            "not a property of librdkafka (did you mean sasl.password?)",
        ),
        ("kafka", "{bootstrap.servers: 'x:1', client.id: [a]}", "expected a string, a number or true/false"),
        ("kafka", "{bootstrap.servers: 'x:1,'}", "expected host:port,host:port"),
        ("kafka", "{bootstrap.servers: 'x:1,y:kafka'}", "expected host:port,host:port, not 'y:kafka'"),
        ("kafka", "{bootstrap.servers: 'x:65536'}", "expected host:port,host:port, not 'x:65536'"),
        ("storage", "{uri: 'webhdfs://x:1'}", "did you mean hdfs://x:1?"),
        ("storage", "{uri: 'file://x/y'}", "a local path has three slashes"),
        ("storage", "{uri: 'file:///'}", "name a directory"),
        ("hive", "none", "expected keys with values"),
        ("hive", "{url: 'jdbc:hive2://h:10000/default'}", "did you mean hive://h:10000/default?"),
        ("hive", "{url: 'hive://h:port'}", "expected hive://user@host:10000"),
        ("hive", "{url: 'hive://h?auth=LDAP'}", "auth=LDAP needs hive.password"),
        ("hive", "{url: 'hive://h', password: x}", "is used only with auth=LDAP or auth=CUSTOM"),
        ("hive", "{url: 'hive://h?auth=LDPA'}", "did you mean LDAP?"),
        ("hive", "{url: 'hive://h?ssl=1'}", "ssl must be true or false"),
        ("spark", "{master: locl}", "expected local[*,4]"),
        ("spark", "{conf: {ui.port: 1}}", "did you mean spark.ui.port?"),
        ("spark", "{conf: {spark.master: yarn}}", "set the key master of the section spark"),
        ("limits", f"{{epoch_bytes: {'9' * 400}MiB}}", "the number is too large"),
        ("trigger", f"{'9' * 400}s", "the number is too large"),
        ("metrics", "{port: 70000}", "less than or equal to 65535"),
        ("dead_letters", "{table: letters}", "expected db.table"),
    ],
)
def test_impossible_values_of_a_section_are_refused(line: str, other: str, message: str) -> None:
    kept = "".join(f"{text}\n" for text in HEAD.splitlines() if not text.startswith(line))
    found = problems_of(f"{kept}{line}: {other}\n{TABLE}")
    assert len(found) == 1, found
    assert message in found[0]


def test_a_property_that_only_the_installed_library_knows_is_accepted() -> None:
    text = (HEAD + TABLE).replace('9092"}', '9092", delivery.timeout.ms: 1000}')
    assert dict(load_text(text, "m", {}).kafka.properties)["delivery.timeout.ms"] == "1000"


def test_a_derived_key_without_a_value_counts_as_left_out() -> None:
    text = (HEAD + TABLE).replace('8020"}', '8020", ledger_root: , warehouse: null}')
    assert load_text(text, "m", {}).storage == load_text(HEAD + TABLE, "m", {}).storage


def test_systemds_runtime_directory_comes_first() -> None:
    environ = {"RUNTIME_DIRECTORY": "/run/k:/run/other", "XDG_RUNTIME_DIR": "/run/user/1"}
    assert load_text(HEAD + TABLE, "m", environ).run_directory == "/run/k"


def test_a_map_loads_in_a_fresh_process_without_arrow_spark_or_kafka() -> None:
    code = (
        "import sys; from kafka2hive.config.load import load_map; load_map('configs/smallest.yaml', {});"
        "sys.exit(any(name in sys.modules for name in ('pyarrow', 'pyspark', 'confluent_kafka', 'pyhive', 'pydantic')))"
    )
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_an_impossible_name_of_a_secret_file_is_reported_with_its_line() -> None:
    head = HEAD.replace('"127.0.0.1:9092"', '"127.0.0.1:9092", sasl.password: "file:a\\0b"')
    (problem,) = problems_of(head + TABLE)
    assert "map.yaml:2:" in problem and "no file has such a name" in problem


def test_a_number_of_thousands_of_digits_is_reported_with_its_line() -> None:
    problems = problems_of(HEAD + TABLE + f"limits: {{open_files: {'9' * 5000}}}\n")
    assert any(problem.startswith("map.yaml:9:") for problem in problems)


@pytest.mark.parametrize("servers", ["a", "a:1, b:2", "PLAINTEXT://a", "SSL://a:9093", "[::1]:9092", "[::1]"])
def test_the_brokers_have_ports_or_the_default_one(servers: str, tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(
        f"service: s\nkafka: {{bootstrap.servers: '{servers}'}}\nstorage: {{uri: hdfs://n:1}}\n"
        "tables: [{table: a.b, topics: [t], columns: {id: int}}]\n"
    )
    assert dict(load_map(str(path), {}).kafka.properties)["bootstrap.servers"] == servers


def test_a_port_may_come_from_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(
        "service: s\nkafka: {bootstrap.servers: 'a:${PORT}'}\nstorage: {uri: hdfs://n:1}\n"
        "tables: [{table: a.b, topics: [t], columns: {id: int}}]\n"
    )
    assert dict(load_map(str(path), {"PORT": "1"}).kafka.properties)["bootstrap.servers"] == "a:1"

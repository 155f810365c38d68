"""From message bytes to rows of the table's schema, by the acceptance table of docs/decoding.md."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from kafka2hive.config.values import ChangeLog, CsvOptions, WireFormat
from kafka2hive.pipeline.decode.changes import Changes
from kafka2hive.pipeline.decode.protocol import Decoder
from kafka2hive.pipeline.decode.sources import Source, own_names
from kafka2hive.pipeline.decode.writers import SchemaCheck, WriterSchema, WriterSchemas

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Changes", "SchemaCheck", "Source", "WriterSchema", "WriterSchemas", "make_decoder"]


def make_decoder(
    format: str,
    schema: "pa.Schema",
    zone: str = "UTC",
    sources: Sequence[Source] = (),
    any_case: bool = False,
    writers: WriterSchemas | WriterSchema | None = None,
    change_log: ChangeLog | None = None,
    decimals: Literal["text", "base64"] | None = None,
    csv: CsvOptions = CsvOptions(),  # noqa: B008  it is frozen
    check: SchemaCheck | None = None,
    rows: str = "one",
    wire: WireFormat = WireFormat(),  # noqa: B008  the same
    changes: Changes | None = None,
) -> Decoder:
    """The decoder of one table, for one thread of one process.

    `format` is one of the map's; `zone` is the IANA name whose wall clock the table's timestamps hold. `sources`
    and `any_case` are not for `raw`, and of `csv` only the units are: where each column's value stands (none given: at
    its name), and whether the case of keys does not matter. `writers` is for `avro` and `protobuf`: where messages name
    their schema by an id, the schemas; else the one that all were written with. `change_log`: whose envelope is unpacked,
    in any format with names; `decimals`: how Debezium's stand in JSON (None: as the
    records' schemas say). `csv`: how its fields are written. `check`: is
    told of the schemas that messages of `avro` and `protobuf` name. `rows`: how they stand in a message (`one`; `lines` of
    `json` and `csv`; `array` of `json` and `json_schema`). `wire`: where messages name their schema.
    `changes`: counts what the sources' leeway changes.
    Raises ValueError for another format, an unknown zone, or a schema the format cannot fill.
    """
    changes = changes or Changes()
    if change_log is not None:

        def of_format(columns: "pa.Schema", of: Sequence[Source]) -> Decoder:
            return make_decoder(
                format, columns, zone, of, any_case, writers, check=check, wire=wire, changes=changes
            )

        if change_log is ChangeLog.CANAL:
            from kafka2hive.pipeline.decode.change_logs.canal import CanalDecoder

            return CanalDecoder(schema, sources or own_names(schema.names), zone, of_format, changes)
        from kafka2hive.pipeline.decode.change_logs.decimal_images import DecimalForm
        from kafka2hive.pipeline.decode.change_logs.decoder import ChangeLogDecoder

        in_json = change_log is ChangeLog.DEBEZIUM and format in ("json", "json_schema")
        told: DecimalForm | None = decimals if in_json else "own"
        return ChangeLogDecoder(change_log, schema, sources or own_names(schema.names), of_format, told)
    if format == "json":
        from kafka2hive.pipeline.decode.defaults import with_defaults
        from kafka2hive.pipeline.decode.json_decoder import JsonDecoder
        from kafka2hive.pipeline.decode.leeway import with_leeway
        from kafka2hive.pipeline.decode.several_paths import with_several_paths

        def strict(columns: "pa.Schema", of: Sequence[Source]) -> Decoder:
            return JsonDecoder(columns, zone, sources=of, any_case=any_case)

        def alone(columns: "pa.Schema", of: Sequence[Source]) -> Decoder:
            return with_leeway(columns, zone, of, changes, strict)

        one = with_defaults(with_several_paths("json", schema, sources, alone), sources, zone, changes)
        if rows == "one":
            return one
        from kafka2hive.pipeline.decode.rows.arrays import split_arrays
        from kafka2hive.pipeline.decode.rows.decoder import SeveralRowsDecoder
        from kafka2hive.pipeline.decode.rows.lines import split_lines

        return SeveralRowsDecoder(one, {"lines": split_lines, "array": split_arrays}[rows])
    if format == "json_schema":
        from kafka2hive.pipeline.decode.registered.framed import FramedDecoder

        within = "array" if rows == "array" else "one"  # a serializer writes one document of JSON
        return FramedDecoder(
            make_decoder("json", schema, zone, sources, any_case, rows=within, changes=changes), wire.framing
        )
    if format == "avro":
        from kafka2hive.pipeline.decode.avro.decoder import AvroDecoder
        from kafka2hive.pipeline.decode.defaults import with_defaults
        from kafka2hive.pipeline.decode.several_paths import with_several_paths

        def avro(columns: "pa.Schema", of: Sequence[Source]) -> Decoder:
            return AvroDecoder(columns, zone, of, any_case, writers, check=check, wire=wire, changes=changes)

        found = with_several_paths("avro", schema, sources, avro)
        return with_defaults(found, sources, zone, changes)
    if format == "protobuf":
        from kafka2hive.pipeline.decode.defaults import with_defaults
        from kafka2hive.pipeline.decode.protobuf.decoder import ProtobufDecoder
        from kafka2hive.pipeline.decode.several_paths import with_several_paths

        def protobuf(columns: "pa.Schema", of: Sequence[Source]) -> Decoder:
            return ProtobufDecoder(
                columns, zone, of, any_case, writers, check=check, wire=wire, changes=changes
            )

        found = with_several_paths("protobuf", schema, sources, protobuf)
        return with_defaults(found, sources, zone, changes)
    if format == "csv":
        from kafka2hive.pipeline.decode.csv.decoder import CsvDecoder

        units, leeways = [source.unit for source in sources], [source.leeway for source in sources]
        fields = CsvDecoder(schema, zone, csv, units, leeways=leeways, changes=changes)
        if rows != "lines":
            return fields
        from kafka2hive.pipeline.decode.rows.csv_lines import CsvLines
        from kafka2hive.pipeline.decode.rows.decoder import SeveralRowsDecoder

        return SeveralRowsDecoder(fields, CsvLines(csv).split)
    if format == "raw":
        from kafka2hive.pipeline.decode.raw import RawDecoder

        return RawDecoder(schema)
    raise ValueError(
        f"unknown format {format!r}: formats are avro, csv, json, json_schema, plugin, protobuf and raw"
    )

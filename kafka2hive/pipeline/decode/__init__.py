"""From message bytes to rows of the table's schema, by the acceptance table of docs/decoding.md."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka2hive.config.values import ChangeLog, CsvOptions
from kafka2hive.pipeline.decode.protocol import Decoder
from kafka2hive.pipeline.decode.sources import Source, own_names
from kafka2hive.pipeline.decode.writers import SchemaCheck, WriterSchema, WriterSchemas

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SchemaCheck", "Source", "WriterSchema", "WriterSchemas", "make_decoder"]


def make_decoder(
    format: str,
    schema: "pa.Schema",
    zone: str = "UTC",
    sources: Sequence[Source] = (),
    any_case: bool = False,
    writers: WriterSchemas | WriterSchema | None = None,
    change_log: ChangeLog | None = None,
    base64_decimals: bool = False,
    csv: CsvOptions = CsvOptions(),  # noqa: B008  it is frozen
    check: SchemaCheck | None = None,
    rows: str = "one",
) -> Decoder:
    """The decoder of one table, for one thread of one process.

    `format` is one of the map's; `zone` is the IANA name whose wall clock the table's timestamps hold. `sources`
    and `any_case` are not for `raw`, and of `csv` only the units are: where each column's value stands (none given: at
    its name), and whether the case of keys does not matter. `writers` is for `avro` and `protobuf`: where messages name
    their schema by an id, the schemas; else the one that all were written with. `change_log`: whose envelope is unpacked,
    in any format with names; `base64_decimals` of Debezium's in JSON. `csv`: how its fields are written. `check`: is
    told of the schemas that messages of `avro` and `protobuf` name. `rows`: how they stand in a message (`one`; `lines` of
    `json` and `csv`; `array` of `json` and `json_schema`). Raises ValueError for another format, an unknown zone, or a
    schema the format cannot fill.
    """
    if change_log is not None:

        def of_format(columns: "pa.Schema", of: Sequence[Source]) -> Decoder:
            return make_decoder(format, columns, zone, of, any_case, writers, check=check)

        if change_log is ChangeLog.CANAL:
            from kafka2hive.pipeline.decode.change_logs.canal import CanalDecoder

            return CanalDecoder(schema, sources or own_names(schema.names), zone, of_format)
        from kafka2hive.pipeline.decode.change_logs.decoder import ChangeLogDecoder

        return ChangeLogDecoder(
            change_log, schema, sources or own_names(schema.names), of_format, base64_decimals
        )
    if format == "json":
        from kafka2hive.pipeline.decode.json_decoder import JsonDecoder

        one = JsonDecoder(schema, zone, sources=sources, any_case=any_case)
        if rows == "one":
            return one
        from kafka2hive.pipeline.decode.rows.arrays import split_arrays
        from kafka2hive.pipeline.decode.rows.decoder import SeveralRowsDecoder
        from kafka2hive.pipeline.decode.rows.lines import split_lines

        return SeveralRowsDecoder(one, {"lines": split_lines, "array": split_arrays}[rows])
    if format == "json_schema":
        from kafka2hive.pipeline.decode.registered.framed import FramedDecoder

        within = "array" if rows == "array" else "one"  # a serializer writes one document of JSON
        return FramedDecoder(make_decoder("json", schema, zone, sources, any_case, rows=within))
    if format == "avro":
        from kafka2hive.pipeline.decode.avro.decoder import AvroDecoder

        return AvroDecoder(schema, zone, sources, any_case, writers, check=check)
    if format == "protobuf":
        from kafka2hive.pipeline.decode.protobuf.decoder import ProtobufDecoder

        return ProtobufDecoder(schema, zone, sources, any_case, writers, check=check)
    if format == "csv":
        from kafka2hive.pipeline.decode.csv.decoder import CsvDecoder

        fields = CsvDecoder(schema, zone, csv, [source.unit for source in sources])
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

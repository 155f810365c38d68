"""The encoding that a table's options ask for."""

from kafka2hive.config.values import WriterOptions
from kafka2hive.formats.avro.encoding import AvroEncoding
from kafka2hive.formats.delimited.values import text_lines
from kafka2hive.formats.json_lines.values import json_lines
from kafka2hive.formats.lines.encoding import LinesEncoding
from kafka2hive.formats.orc.encoding import OrcEncoding
from kafka2hive.formats.parquet.encoding import ParquetEncoding
from kafka2hive.formats.plugin.encoding import PluginEncoding
from kafka2hive.formats.port import Encoding
from kafka2hive.formats.sorting import SortingEncoding


def encoding_of(options: WriterOptions) -> Encoding:
    """A new one: it is for one table in one task. Raises TableError where it is of a plug-in."""
    encoding = _of_format(options)
    return SortingEncoding(encoding, options.sorted_by) if options.sorted_by else encoding


def _of_format(options: WriterOptions) -> Encoding:
    match options.format:
        case "parquet":
            return ParquetEncoding(options)
        case "orc":
            return OrcEncoding(options)
        case "json":
            return LinesEncoding(options, json_lines)
        case "text":
            return LinesEncoding(options, lambda _schema: text_lines(options.text))
        case "avro":
            return AvroEncoding(options)
        case "plugin":
            assert options.plugin is not None, "the map's check"
            return PluginEncoding(options.plugin)

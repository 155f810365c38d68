"""Wrap decoders that fill named columns with the options of all such formats."""

from kafka2hive.decode.columns.defaults import with_defaults
from kafka2hive.decode.columns.several_paths import with_several_paths
from kafka2hive.decode.contract.spec import DecoderSpec, MakeDecoder
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import check_zone
from kafka2hive.plugins import Decoder


def of_named_columns(spec: DecoderSpec, make: MakeDecoder) -> Decoder:
    """Return the format's decoder (made by `make`) for columns that may have several paths and defaults."""
    sources = spec.source_of_each()
    decoder = with_several_paths(
        spec.format, spec.schema, sources, lambda columns, of: make(spec.of_columns(columns, of))
    )
    return with_defaults(decoder, sources, spec.zone, spec.changes)


def check_columns(spec: DecoderSpec) -> None:
    """Raise ValueError without columns, for two columns of a name or an unknown zone; HiveTypeError for an unknown type."""
    schema = spec.schema
    if len(schema) == 0 or len(set(schema.names)) != len(schema):
        raise ValueError(
            f"format {spec.format} needs columns with distinct names, the table has: {schema.names}"
        )
    for field in schema:
        hive_type_of(field.type)  # raises HiveTypeError for a type outside the acceptance table
    check_zone(spec.zone)

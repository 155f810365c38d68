"""Make decoders of change logs: in any format with named fields, whose own decoder reads the envelopes and images."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from kafka2hive.config.keys import ChangeLog
from kafka2hive.decode import make_decoder
from kafka2hive.decode.change_logs.canal import CanalDecoder
from kafka2hive.decode.change_logs.decimal_images import DecimalForm
from kafka2hive.decode.change_logs.decoder import ChangeLogDecoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.plugins import Decoder


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder. Raises ValueError for columns that cannot be filled; see check_change_columns."""
    assert spec.change_log is not None
    record = replace(spec, change_log=None, rows="one")

    def of_format(columns: pa.Schema, sources: Sequence[Source]) -> Decoder:
        return make_decoder(record.of_columns(columns, sources))

    sources = spec.source_of_each()
    if spec.change_log is ChangeLog.CANAL:
        return CanalDecoder(
            schema=spec.schema, sources=sources, zone=spec.zone, open_decoder=of_format, changes=spec.changes
        )
    in_json = spec.change_log is ChangeLog.DEBEZIUM and spec.format in ("json", "json_schema")
    decimals: DecimalForm | None = spec.decimals if in_json else "own"
    return ChangeLogDecoder(
        log=spec.change_log, schema=spec.schema, sources=sources, open_decoder=of_format, decimals=decimals
    )

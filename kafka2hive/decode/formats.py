"""List the message formats. Each is a module with a function `make`, loaded when the first table needs it."""

from importlib import import_module

from kafka2hive.decode.contract.spec import DecoderSpec, MakeDecoder
from kafka2hive.plugins import Decoder

_DECODE = "kafka2hive.decode"
FORMATS = {
    "json": f"{_DECODE}.json",
    "json_schema": f"{_DECODE}.json_framed",
    "avro": f"{_DECODE}.avro.decoder",
    "protobuf": f"{_DECODE}.protobuf.decoder",
    "csv": f"{_DECODE}.csv",
    "raw": f"{_DECODE}.raw",
    "plugin": "kafka2hive.decode.plugin",
}
_CHANGE_LOGS = f"{_DECODE}.change_logs.formats"


def make_decoder(spec: DecoderSpec) -> Decoder:
    """Return the decoder of one table, for one thread of one process.

    Raises ValueError for an unknown format or zone, or a schema that the format cannot fill.
    """
    if spec.format not in FORMATS:
        raise ValueError(f"unknown format {spec.format!r}: formats are {', '.join(sorted(FORMATS))}")
    make: MakeDecoder = import_module(_CHANGE_LOGS if spec.change_log else FORMATS[spec.format]).make
    return make(spec)

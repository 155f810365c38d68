"""The compression within the frame of AWS Glue's schema registry: byte 3, a byte for the compression, a GUID, the data."""

import numpy as np
import pyarrow as pa

from kafka2hive.decode.transport.compression import inflate
from kafka2hive.decode.values.batch import message_bytes

_HEAD = 18
_PLAIN, _ZLIB = b"\3\0", b"\3\5"


def has_glue_compression(values: pa.BinaryArray) -> bool:
    """Return whether any value begins as compressed ones do."""
    messages = message_bytes(values)
    starts = messages.offsets[:-1][np.diff(messages.offsets) >= _HEAD]
    return bool(((messages.raw[starts] == _ZLIB[0]) & (messages.raw[starts + 1] == _ZLIB[1])).any())


def without_glue_compression(value: bytes) -> bytes:
    """Return the value with its data decompressed; any other value unchanged. Raises Undecodable."""
    if not value.startswith(_ZLIB) or len(value) < _HEAD:
        return value
    return _PLAIN + value[2:_HEAD] + inflate(value[_HEAD:], "zlib")

"""Whether an image of the row is there: a second walk over messages, for those whose image holds no value."""

import pyarrow as pa

from kafka2hive.pipeline.decode.protocol import Decoder, Reason
from kafka2hive.pipeline.decode.sources import Source

IMAGE = pa.struct([("_a_row", pa.bool_())])
"""Not null wherever an object stands; nobody's row has the member."""


def presence(path: tuple[str, ...]) -> tuple[pa.Schema, list[Source]]:
    """What a decoder must read for `absent`, of the image at this path."""
    return pa.schema([("image", IMAGE)]), [Source(path)]


def absent(
    decoder: Decoder, values: pa.BinaryArray, operations: pa.StringArray, image: str
) -> dict[int, Reason]:
    """The messages without the image, each with the reason; `operations` has the operation of each message."""
    read = decoder.decode(values)
    refused: dict[int, Reason] = dict(zip(read.rejected.to_pylist(), read.reasons, strict=True))
    missing = read.rows.column("image").is_null().to_numpy(zero_copy_only=False)
    for number in read.accepted.to_numpy()[missing].tolist():
        refused[number] = Reason(
            "change_log.row", f"operation {operations[number]} without an object at {image}"
        )
    return refused

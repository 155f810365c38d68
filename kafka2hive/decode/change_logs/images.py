"""An image of the row, read out of records by the decoder of their format, with the envelope's values beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.decode.contract.sources import Source
from kafka2hive.plugins import Decoded, Decoder, Reason

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


Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ImageRows:
    """`places`: the messages' positions in the batch. `refused`: positions, and why."""

    rows: pa.RecordBatch
    places: Numbers
    refused: dict[int, Reason]

    def only(self, wanted: npt.NDArray[np.bool_]) -> "ImageRows":
        if wanted.all():
            return self
        return ImageRows(self.rows.filter(pa.array(wanted)), self.places[wanted], self.refused)

    def refusing(self, refused: Mapping[int, Reason]) -> "ImageRows":
        """Without these rows, by their numbers; and why."""
        if not refused:
            return self
        wanted = np.ones(len(self.rows), np.bool_)
        wanted[list(refused)] = False
        more = {int(self.places[number]): reason for number, reason in refused.items()}
        return ImageRows(self.rows, self.places, more | self.refused).only(wanted)

    def at(self, places: Numbers) -> "ImageRows":
        """The same of messages that are those at `places` of a larger batch."""
        refused = {int(places[place]): reason for place, reason in self.refused.items()}
        return ImageRows(self.rows, places[self.places], refused)


def rows_of(decoded: Decoded) -> ImageRows:
    refused = dict(zip(decoded.rejected.to_pylist(), decoded.reasons, strict=True))
    return ImageRows(decoded.rows, decoded.accepted.to_numpy().astype(np.int64), refused)


def merged(parts: Sequence[ImageRows]) -> ImageRows:
    """Merge the parts in the order of the messages."""
    places = np.concatenate([part.places for part in parts])
    rows = parts[0].rows if len(parts) == 1 else pa.concat_batches([part.rows for part in parts])
    if len(parts) > 1:
        order = np.argsort(places, kind="stable")
        rows, places = rows.take(pa.array(order)), places[order]
    return ImageRows(
        rows, places, {place: reason for part in parts for place, reason in part.refused.items()}
    )


def joined(parts: Sequence[ImageRows]) -> Decoded:
    """Join all parts of a batch in the order of the messages."""
    whole = merged(parts)
    refused = sorted(whole.refused.items())
    return Decoded(
        rows=whole.rows,
        accepted=pa.array(whole.places, pa.int32()),
        rejected=pa.array([place for place, _ in refused], pa.int32()),
        reasons=[reason for _, reason in refused],
    )


Open = Callable[[pa.Schema, Sequence[Source]], Decoder]
"""The decoder of the table's format for these columns."""


@dataclass(frozen=True, slots=True)
class ImageColumns:
    """A column, and where it stands in the record."""

    name: str
    type: pa.DataType
    source: Source


Plan = Callable[[int, str], list[ImageColumns]]
"""What is read where the envelope stands at this prefix, by its number, and the row is the image of this name."""


def opened(wanted: Sequence[ImageColumns], open_decoder: Open) -> Decoder:
    schema = pa.schema([(one.name, one.type) for one in wanted])
    return open_decoder(schema, [one.source for one in wanted])


class Images(Protocol):
    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> ImageRows:
        """The columns of the plan, of the records that have them."""
        ...


class PlainImages:
    """Reads values as the format defines them."""

    def __init__(self, plan: Plan, open_decoder: Open) -> None:
        self._open = cache(lambda prefix, image: opened(plan(prefix, image), open_decoder))

    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> ImageRows:
        return rows_of(self._open(prefix, image).decode(values))

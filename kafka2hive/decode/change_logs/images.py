"""Read an image of the row and values of the envelope from records, with the decoder of the records' format."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import pyarrow as pa

from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import OpenDecoder
from kafka2hive.decode.values.batch import Mask, Places, decoder_result, mask_of, refusals_of
from kafka2hive.plugins import Decoded, Decoder, Reason

IMAGE = pa.struct([("_a_row", pa.bool_())])
"""A struct whose only member no row has. So it is null only if the record has no object at its path."""


def presence_columns(path: tuple[str, ...]) -> tuple[pa.Schema, list[Source]]:
    """Return the columns and sources of the decoder that `missing_images` needs. `path` leads to the image."""
    return pa.schema([("image", IMAGE)]), [Source(path)]


def missing_images(
    decoder: Decoder, values: pa.BinaryArray, operations: pa.StringArray, image: str
) -> dict[int, Reason]:
    """Return the reasons against messages without the image, by position. `operations`: one for each message."""
    part = rows_of(decoder.decode(values))
    missing = mask_of(part.rows.column("image").is_null())
    for number in part.places[missing].tolist():
        text = f"operation {operations[number]} without an object at {image}"
        part.refusals[number] = Reason("change_log.row", text)
    return part.refusals


@dataclass(frozen=True, slots=True)
class ImageRows:
    """The rows of some messages of a batch.

    `places`: the position of each row's message in the batch. `refusals`: by position the reasons against other messages.
    """

    rows: pa.RecordBatch
    places: Places
    refusals: dict[int, Reason]

    def only(self, mask: Mask) -> "ImageRows":
        """Return the rows in the mask, with all reasons."""
        if mask.all():
            return self
        return ImageRows(self.rows.filter(pa.array(mask)), self.places[mask], self.refusals)

    def refusing(self, refusals: Mapping[int, Reason]) -> "ImageRows":
        """Return the rows without those in `refusals` (reasons by row number), with their reasons added."""
        if not refusals:
            return self
        good = np.ones(len(self.rows), np.bool_)
        good[list(refusals)] = False
        more = {int(self.places[number]): reason for number, reason in refusals.items()}
        return ImageRows(self.rows, self.places, more | self.refusals).only(good)

    def at(self, places: Places) -> "ImageRows":
        """Return the same rows and reasons with positions in a larger batch, in which the messages are at `places`."""
        refusals = {int(places[place]): reason for place, reason in self.refusals.items()}
        return ImageRows(self.rows, places[self.places], refusals)


def rows_of(result: Decoded) -> ImageRows:
    """Return a decoder's result as ImageRows."""
    return ImageRows(result.rows, result.accepted.to_numpy().astype(np.int64), refusals_of(result))


def merge_parts(parts: Sequence[ImageRows]) -> ImageRows:
    """Merge the parts in the order of the messages."""
    places = np.concatenate([part.places for part in parts])
    rows = parts[0].rows if len(parts) == 1 else pa.concat_batches([part.rows for part in parts])
    if len(parts) > 1:
        order = np.argsort(places, kind="stable")
        rows, places = rows.take(pa.array(order)), places[order]
    return ImageRows(
        rows, places, {place: reason for part in parts for place, reason in part.refusals.items()}
    )


def join_parts(parts: Sequence[ImageRows]) -> Decoded:
    """Join all parts of a batch in the order of the messages."""
    whole = merge_parts(parts)
    return decoder_result(whole.rows, whole.places, whole.refusals)


def places_of(mask: Mask) -> pa.Int32Array:
    """Return the positions in the mask."""
    return pa.array(np.flatnonzero(mask), pa.int32())


@dataclass(frozen=True, slots=True)
class ImageColumn:
    """A column that is read from records, and where its value is."""

    name: str
    type: pa.DataType
    source: Source


Plan = Callable[[int, str], list[ImageColumn]]
"""(number of the envelope's prefix, name of the image that is the row) -> the columns to read from such records."""


def decoder_of(columns: Sequence[ImageColumn], open_decoder: OpenDecoder) -> Decoder:
    """Return the decoder that reads these columns."""
    schema = pa.schema([(column.name, column.type) for column in columns])
    return open_decoder(schema, [column.source for column in columns])


class Images(Protocol):
    """Reads images from records."""

    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> ImageRows:
        """Return the columns of the plan. `prefix`: number of the envelope's path, `image`: name of the image that is the row."""
        ...


class PlainImages:
    """Reads images whose values are all written as the format defines."""

    def __init__(self, plan: Plan, open_decoder: OpenDecoder) -> None:
        self._open = cache(lambda prefix, image: decoder_of(plan(prefix, image), open_decoder))

    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> ImageRows:
        return rows_of(self._open(prefix, image).decode(values))

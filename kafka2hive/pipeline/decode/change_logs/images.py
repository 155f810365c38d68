"""An image of the row, read out of records by the decoder of their format, with the envelope's values beside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import pyarrow as pa

from kafka2hive.pipeline.decode.change_logs.rows import Rows, rows_of
from kafka2hive.pipeline.decode.protocol import Decoder
from kafka2hive.pipeline.decode.sources import Source

Open = Callable[[pa.Schema, Sequence[Source]], Decoder]
"""The decoder of the table's format for these columns."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column, and where it stands in the record."""

    name: str
    type: pa.DataType
    source: Source


Plan = Callable[[int, str], list[Wanted]]
"""What is read where the envelope stands at this prefix, by its number, and the row is the image of this name."""


def opened(wanted: Sequence[Wanted], open_decoder: Open) -> Decoder:
    schema = pa.schema([(one.name, one.type) for one in wanted])
    return open_decoder(schema, [one.source for one in wanted])


class Images(Protocol):
    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> Rows:
        """The columns of the plan, of the records that have them."""
        ...


class PlainImages:
    """Values are as the format says."""

    def __init__(self, plan: Plan, open_decoder: Open) -> None:
        self._open = cache(lambda prefix, image: opened(plan(prefix, image), open_decoder))

    def read(self, values: pa.BinaryArray, prefix: int, image: str) -> Rows:
        return rows_of(self._open(prefix, image).decode(values))

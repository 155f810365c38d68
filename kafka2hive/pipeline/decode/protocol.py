"""What every decoder promises: each message becomes exactly one row or exactly one dead letter."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Decoded:
    """One batch, decoded. Positions count the input's messages from 0 and are ascending.

    `rows`: accepted messages only, in message order, exactly the table's schema. `accepted`: their positions.
    `rejected`: positions that go to the dead letters. accepted + rejected = every input position exactly once.
    `reasons`: one per rejected, `<stable code>: <text with column and JSON path>`.
    """

    rows: "pa.RecordBatch"
    accepted: "pa.Int32Array"
    rejected: "pa.Int32Array"
    reasons: "pa.StringArray"


class Decoder(Protocol):
    """Decodes batches on the calling thread alone; holds no state between batches."""

    schema: "pa.Schema"

    def decode(self, values: "pa.BinaryArray") -> Decoded:
        """`values` holds no nulls, at most ~50,000 messages and ~64 MB. Never raises for what a message holds."""
        ...

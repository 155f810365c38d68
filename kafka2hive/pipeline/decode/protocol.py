"""What every decoder promises: each message becomes rows, or one dead letter as a whole; never both."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Decoded:
    """One batch, decoded. Positions count the input's messages from 0 and are ascending.

    `rows`: of the accepted messages only, in message order, exactly the table's schema. `accepted`: the position of each
    row's message, as often as the message has rows (most formats: once). `rejected`: positions that go to the dead letters.
    `reasons`: one per rejected, `<stable code>: <text with column and JSON path>`. `without_rows`: sound messages that hold
    no row; None: there are none. Every input position is in exactly one of accepted, rejected and without_rows.
    `new_keys`: the messages' own keys that no column takes and that came up since the batch before, as far as they are known.
    """

    rows: "pa.RecordBatch"
    accepted: "pa.Int32Array"
    rejected: "pa.Int32Array"
    reasons: "pa.StringArray"
    without_rows: "pa.Int32Array | None" = None
    new_keys: tuple[str, ...] = ()


class Decoder(Protocol):
    """Decodes batches on the calling thread alone; holds no state between batches."""

    schema: "pa.Schema"

    def decode(self, values: "pa.BinaryArray") -> Decoded:
        """`values` holds no nulls, at most ~50,000 messages and ~64 MB. Never raises for what a message holds."""
        ...

"""What a decoder makes of each message of a batch."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kafka2hive.plugins import Decoder, Reason


def outcomes_of(decoder: Decoder, messages: Sequence[bytes]) -> list[Any]:
    """Return for each message its rows (lists of values) or its Reason; no message is lost, doubled or moved."""
    decoded = decoder.decode(pa.array([b'9,"', *messages, b'"'], pa.binary()).slice(1, len(messages)))
    decoded.rows.validate(full=True)
    assert decoded.rows.schema.equals(decoder.schema)
    accepted, rejected = decoded.accepted.to_pylist(), decoded.rejected.to_pylist()
    empty = [] if decoded.without_rows is None else decoded.without_rows.to_pylist()
    assert accepted == sorted(accepted) and rejected == sorted(rejected)
    assert sorted([*set(accepted), *rejected, *empty]) == list(range(len(messages)))
    assert (len(decoded.rows), len(decoded.reasons)) == (len(accepted), len(rejected))
    found: list[Any] = [[] for _ in messages]
    for place, row in zip(accepted, decoded.rows.to_pylist(), strict=True):
        found[place].append(list(row.values()))
    for place, reason in zip(rejected, decoded.reasons, strict=True):
        found[place] = reason
    return found


def row_outcomes(decoder: Decoder, messages: Sequence[bytes]) -> list[Any]:
    """Return for each message the values of its one row, or its Reason."""
    found = outcomes_of(decoder, messages)
    assert all(isinstance(one, Reason) or len(one) == 1 for one in found)
    return [one if isinstance(one, Reason) else one[0] for one in found]


def first_values(decoder: Decoder, messages: Sequence[bytes]) -> list[Any]:
    """Return for each message the value of the first column of its one row, or its reason's code."""
    return [one.code if isinstance(one, Reason) else one[0] for one in row_outcomes(decoder, messages)]

"""The JSON objects of sampled values: one in each, or several, as lines or as an array."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kafka2hive.pipeline.decode import make_decoder
from kafka2hive.pipeline.decode.rows.arrays import split_arrays
from kafka2hive.pipeline.decode.rows.lines import split_lines

Documents = Sequence[dict[str, Any] | None]


def documents_of(values: Sequence[bytes]) -> Documents:
    """None for what no columns could decode."""
    whole = make_decoder("json", pa.schema([(f"no key {uuid4().hex}", pa.bool_())]))
    documents: list[dict[str, Any] | None] = [None] * len(values)
    for place in whole.decode(pa.array(values, pa.binary())).accepted.to_pylist():
        with suppress(ValueError):  # a number of thousands of digits
            documents[place] = json.loads(values[place])
    return documents


def several_in(values: Sequence[bytes], known: Documents) -> tuple[str, Documents] | None:
    """How several objects stand in each value (the map's `rows`), and all of them; None where one in each fits more values.

    `known`: the objects that are values of their own.
    """
    singles = sum(document is not None for document in known)
    for rows, split in (("lines", split_lines), ("array", split_arrays)):
        found = split(pa.array(values, pa.binary()))
        within = documents_of(found.texts.to_pylist())
        bad = np.array([document is None for document in within], np.bool_)
        message = np.repeat(np.arange(len(values)), found.counts)
        whole = np.setdiff1d(message, message[bad])
        if len(whole) > singles and 2 * len(whole) >= len(values):
            return rows, within
    return None

"""The JSON objects of sampled values: one in each, or several, as lines or as an array; and why values hold none."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kafka2hive.model.quantities import counted
from kafka2hive.pipeline.decode import DecoderSpec, make_decoder
from kafka2hive.pipeline.decode.protocol import Decoder
from kafka2hive.pipeline.decode.rows.arrays import split_arrays
from kafka2hive.pipeline.decode.rows.lines import split_lines

_HEADS = {
    b"\xef\xbb\xbf": "texts with a byte order mark, which JSON and CSV must not have",
    b"\xff\xfe": "texts in UTF-16",
    b"\xfe\xff": "texts in UTF-16",
    b"\x1f\x8b": "gzip, which a producer should leave to Kafka (compression.type)",
    b"\x28\xb5\x2f\xfd": "zstd, which a producer should leave to Kafka (compression.type)",
    b"Obj\x01": "whole Avro files, each with its schema",
    b"\xc3\x01": "Avro's single objects, whose schemas are named by a fingerprint and are in no registry",
    b"\x03\x00": "records of AWS Glue's schema registry",
    b"\x03\x05": "compressed records of AWS Glue's schema registry",
    b"PAR1": "whole Parquet files",
}
Documents = Sequence[dict[str, Any] | None]


def documents_of(values: Sequence[bytes]) -> Documents:
    """None for what no columns could decode."""
    whole = _whole()
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


def why_none(values: Sequence[bytes]) -> list[str]:
    """What most values are, if it is known, or why most of those that begin as an object are none."""
    heads = Counter(told for value in values for head, told in _HEADS.items() if value.startswith(head))
    for told, count in heads.most_common(1):
        if 2 * count > len(values):
            return [f"most begin as {told}: only a decoder of your own (format: plugin) can read them"]
    begun = [value for value in values if value.lstrip(b" \t\r\n").startswith(b"{")]
    reasons = _whole().decode(pa.array(begun, pa.binary())).reasons
    found = Counter(reason.code for reason in reasons)
    for code, count in found.most_common(1):
        first = next(reason for reason in reasons if reason.code == code)
        return [f"{counted(count, 'record')} that begin as an object are none, the first: {first}"]
    return []


def _whole() -> Decoder:
    """Of no column that any object has."""
    return make_decoder(DecoderSpec("json", pa.schema([(f"no key {uuid4().hex}", pa.bool_())])))

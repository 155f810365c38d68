"""What the schema beside a record says of the row's decimals: texts or numbers, or bytes of a scale."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.change_logs.images import ImageRows, Numbers, rows_of
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.values.connect_decimals import NAME
from kafka2hive.plugins import Decoder, Reason

UNTOLD, TEXT, OTHER, NUMBER = -1001, -1002, -1003, -1004
"""Of a column of a record: there is no schema, or it lacks the key; a text or a number; bytes that are no decimal; a number,
and no text, where the map says so of what the schema takes for bytes. Any other code is the scale of a decimal's bytes."""
LEAST_SCALE = -999

Told = npt.NDArray[np.int16]
"""For each record and column."""

_WORDS = [("type", pa.string()), ("name", pa.string()), ("parameters", pa.struct([("scale", pa.string())]))]
_FIELD = pa.struct([("field", pa.string()), *_WORDS, ("items", pa.struct([("name", pa.string())]))])
_FIELDS = pa.list_(pa.struct([("field", pa.string()), ("fields", pa.list_(_FIELD))]))
"""What is read of `$.schema.fields`: the images of the row, and of each of their fields the type."""

_IMAGES = pa.array(["before", "after"])
_SCALE = "^(?:0|-?[1-9][0-9]{0,2})$"
_SCHEMA, _PAYLOAD = b'{"schema":', b',"payload":'
"""As the JSON converter writes them."""
_MOST_HEADS = 8


class SchemaDecimals:
    """Reads the schemas of records. Records that begin with the same bytes up to their payload share one schema, which is
    read once.
    """

    def __init__(
        self, open_decoder: Callable[[pa.Schema, Sequence[Source]], Decoder], keys: Sequence[str | None]
    ) -> None:
        """`keys`: of each column the one in the row, None where it is not the row's own."""
        self._keys = keys
        self._decoder = open_decoder(pa.schema([("the schema", _FIELDS)]), [Source(("schema", "fields"))])

    def of(self, values: pa.BinaryArray) -> tuple[Told, dict[int, Reason]]:
        """What is told of each record's columns; and the records whose schema cannot be read, with the reason."""
        told = np.full((len(values), len(self._keys)), UNTOLD, np.int16)
        left = np.ones(len(values), np.bool_)
        for _ in range(_MOST_HEADS):
            if not left.any():
                return told, {}
            head = self._head(values[int(np.argmax(left))].as_py())
            if head is None:
                break
            text, found = head
            same = left & pc.starts_with(values, pattern=text).to_numpy(zero_copy_only=False)
            told[same] = found
            left &= ~same
        places = np.flatnonzero(left)
        rows = rows_of(self._decoder.decode(values.take(pa.array(places)))).at(places)
        told[rows.places] = self._told(rows)
        return told, rows.refused

    def _head(self, message: bytes) -> tuple[bytes, Told] | None:
        """The bytes before a payload, where they hold the whole schema, and what it says.

        With `null` for the payload they are a message: so they end within the message's own object, behind its schema.
        """
        head, mark, _ = message.partition(_PAYLOAD)
        if not mark or not message.startswith(_SCHEMA):
            return None
        rows = rows_of(self._decoder.decode(pa.array([head + mark + b"null}"], pa.binary())))
        return None if rows.refused else (head + mark, self._told(rows)[0])

    def _told(self, rows: ImageRows) -> Told:
        schemas = rows.rows.column(0)
        images = pc.list_flatten(schemas)
        of_row = pc.list_parent_indices(schemas).to_numpy()
        fields = pc.struct_field(images, "fields")
        entries = pc.list_flatten(fields)
        of_image = pc.list_parent_indices(fields).to_numpy()
        in_row = pc.is_in(pc.struct_field(images, "field"), _IMAGES).to_numpy(zero_copy_only=False)[of_image]
        names, codes = pc.struct_field(entries, "field"), _codes(entries)
        told = np.full((len(schemas), len(self._keys)), UNTOLD, np.int16)
        for column, key in enumerate(self._keys):
            if key is None:
                continue
            same = _mask(pc.equal(names, key)) & in_row
            if not same.any():  # Hive's names are in small letters
                same = _mask(pc.equal(pc.utf8_lower(names), key.lower())) & in_row
            at = of_row[of_image[np.flatnonzero(same)]]
            told[:, column] = _agreed(at, codes[same], len(schemas))
        return told


def _codes(entries: pa.StructArray) -> Told:
    kind = pc.struct_field(entries, "type")
    is_decimal = _mask(pc.equal(pc.struct_field(entries, "name"), NAME))
    is_bytes = _mask(pc.equal(kind, "bytes"))
    holds = _mask(pc.equal(pc.struct_field(pc.struct_field(entries, "items"), "name"), NAME))
    scale = pc.struct_field(pc.struct_field(entries, "parameters"), "scale")
    known = is_decimal & is_bytes & _mask(pc.match_substring_regex(scale, _SCALE))
    digits = pc.if_else(pa.array(known), scale, "0").cast(pa.int16()).to_numpy(zero_copy_only=False)
    found: Told = np.where(known, digits, np.where(is_decimal | is_bytes | holds, OTHER, TEXT)).astype(
        np.int16
    )
    return found


def _agreed(at: Numbers, codes: Told, count: int) -> Told:
    """What both images say; OTHER where they differ."""
    least = np.full(count, np.iinfo(np.int16).max, np.int16)
    most = np.full(count, np.iinfo(np.int16).min, np.int16)
    np.minimum.at(least, at, codes)
    np.maximum.at(most, at, codes)
    found: Told = np.where(least > most, UNTOLD, np.where(least == most, least, OTHER)).astype(np.int16)
    return found


def _mask(found: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return mask

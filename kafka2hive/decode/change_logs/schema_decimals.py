"""Read from the schema in a record how its decimals are written: as strings or numbers, or as bytes with a scale."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.change_logs.images import ImageRows, rows_of
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import OpenDecoder
from kafka2hive.decode.values.batch import Places, mask_of
from kafka2hive.decode.values.connect_decimals import NAME
from kafka2hive.plugins import Reason

UNKNOWN, TEXT, OTHER, NUMBER = -1001, -1002, -1003, -1004
"""Codes of a decimal's form. Any other code is the scale of a decimal that is bytes.

UNKNOWN: the record has no schema, or the schema has no such key. TEXT: a string or a number. OTHER: bytes that are not a decimal.
NUMBER: only a number, although the schema says bytes.
"""
LEAST_SCALE = -999

Forms = npt.NDArray[np.int16]
"""Codes of decimals' forms: one row for each record, one column for each decimal."""

_TYPE_MEMBERS = [
    ("type", pa.string()),
    ("name", pa.string()),
    ("parameters", pa.struct([("scale", pa.string())])),
]
_FIELD = pa.struct([("field", pa.string()), *_TYPE_MEMBERS, ("items", pa.struct([("name", pa.string())]))])
_FIELDS = pa.list_(pa.struct([("field", pa.string()), ("fields", pa.list_(_FIELD))]))
"""The members of `$.schema.fields` that are read: the images of the row, and the types of their fields."""

_IMAGES = pa.array(["before", "after"])
_SCALE = "^(?:0|-?[1-9][0-9]{0,2})$"
_SCHEMA, _PAYLOAD = b'{"schema":', b',"payload":'
"""Keys as the JSON converter writes them."""
_MOST_HEADS = 8


class SchemaDecimals:
    """Reads the schemas of records.

    Records that begin with the same bytes up to their payload have the same schema, which is read once per batch.
    """

    def __init__(self, open_decoder: OpenDecoder, keys: Sequence[str | None]) -> None:
        """`keys`: each decimal's key in the row, None for one that does not come from a key of the row."""
        self._keys = keys
        self._decoder = open_decoder(pa.schema([("the schema", _FIELDS)]), [Source(("schema", "fields"))])

    def forms(self, values: pa.BinaryArray) -> tuple[Forms, dict[int, Reason]]:
        """Return the forms of each record's decimals, and by position the reasons against records whose schema cannot be read."""
        forms = np.full((len(values), len(self._keys)), UNKNOWN, np.int16)
        is_open = np.ones(len(values), np.bool_)
        for _ in range(_MOST_HEADS):
            if not is_open.any():
                return forms, {}
            head = self._head(values[int(np.argmax(is_open))].as_py())
            if head is None:
                break
            text, forms_of_head = head
            same = is_open & mask_of(pc.starts_with(values, pattern=text))
            forms[same] = forms_of_head
            is_open &= ~same
        places = np.flatnonzero(is_open)
        rows = rows_of(self._decoder.decode(values.take(pa.array(places)))).at(places)
        forms[rows.places] = self._forms(rows)
        return forms, rows.refusals

    def _head(self, message: bytes) -> tuple[bytes, Forms] | None:
        """Return the bytes up to the payload and the forms of their schema; None if they may not hold the whole schema.

        They hold it if `null` as the payload makes them a valid message, because then the schema ends before the payload.
        """
        head, mark, _ = message.partition(_PAYLOAD)
        if not mark or not message.startswith(_SCHEMA):
            return None
        rows = rows_of(self._decoder.decode(pa.array([head + mark + b"null}"], pa.binary())))
        return None if rows.refusals else (head + mark, self._forms(rows)[0])

    def _forms(self, rows: ImageRows) -> Forms:
        """Return the forms by the schemas in the rows' only column."""
        schemas = rows.rows.column(0)
        images = pc.list_flatten(schemas)
        of_row = pc.list_parent_indices(schemas).to_numpy()
        fields = pc.struct_field(images, "fields")
        entries = pc.list_flatten(fields)
        of_image = pc.list_parent_indices(fields).to_numpy()
        in_row = mask_of(pc.is_in(pc.struct_field(images, "field"), _IMAGES))[of_image]
        names, codes = pc.struct_field(entries, "field"), _codes(entries)
        forms = np.full((len(schemas), len(self._keys)), UNKNOWN, np.int16)
        for column, key in enumerate(self._keys):
            if key is None:
                continue
            same = mask_of(pc.equal(names, key)) & in_row
            if not same.any():  # Hive's names are in lower case
                same = mask_of(pc.equal(pc.utf8_lower(names), key.lower())) & in_row
            at = of_row[of_image[np.flatnonzero(same)]]
            forms[:, column] = _agreed(at, codes[same], len(schemas))
        return forms


def _codes(entries: pa.StructArray) -> Forms:
    """Return the form of each entry, which is a field of a schema."""
    kind = pc.struct_field(entries, "type")
    is_decimal = mask_of(pc.equal(pc.struct_field(entries, "name"), NAME))
    is_bytes = mask_of(pc.equal(kind, "bytes"))
    holds_decimals = mask_of(pc.equal(pc.struct_field(pc.struct_field(entries, "items"), "name"), NAME))
    scale = pc.struct_field(pc.struct_field(entries, "parameters"), "scale")
    known = is_decimal & is_bytes & mask_of(pc.match_substring_regex(scale, _SCALE))
    digits = pc.if_else(pa.array(known), scale, "0").cast(pa.int16()).to_numpy(zero_copy_only=False)
    codes: Forms = np.where(
        known, digits, np.where(is_decimal | is_bytes | holds_decimals, OTHER, TEXT)
    ).astype(np.int16)
    return codes


def _agreed(at: Places, codes: Forms, count: int) -> Forms:
    """Return for each of `count` records the code that both images have; OTHER if they differ.

    `at`: the record of each code.
    """
    least = np.full(count, np.iinfo(np.int16).max, np.int16)
    most = np.full(count, np.iinfo(np.int16).min, np.int16)
    np.minimum.at(least, at, codes)
    np.maximum.at(most, at, codes)
    agreed: Forms = np.where(least > most, UNKNOWN, np.where(least == most, least, OTHER)).astype(np.int16)
    return agreed

"""One type for a column that schemas of several versions fill. Pure."""

import pyarrow as pa

from kafka2hive.config.wider_types import is_wider
from kafka2hive.model.hive.types import hive_type_of


def merged(held: pa.DataType, written: pa.DataType) -> pa.DataType | None:
    """The type that holds both, and that files of type `held` can be read as; None where there is none.

    Fields of structs are never left out, and new ones come last. A number does not become text: messages with numbers
    would not fill it.
    """
    if held == written:
        return held
    if pa.types.is_list(held) and pa.types.is_list(written):
        element = merged(held.value_type, written.value_type)
        return None if element is None else pa.list_(element)
    if pa.types.is_map(held) and pa.types.is_map(written):
        item = merged(held.item_type, written.item_type)
        return None if item is None else pa.map_(held.key_type, item)
    if pa.types.is_struct(held) and pa.types.is_struct(written):
        return _merged_structs(held, written)
    if pa.types.is_nested(held) or pa.types.is_string(held) or pa.types.is_string(written):
        return None
    if is_wider(hive_type_of(written), hive_type_of(held)):
        return written
    return held if is_wider(hive_type_of(held), hive_type_of(written)) else None


def _merged_structs(held: pa.StructType, written: pa.StructType) -> pa.StructType | None:
    new = {field.name.lower(): field for field in written}
    fields = []
    for field in held:
        other = new.pop(field.name.lower(), None)
        both = field.type if other is None else merged(field.type, other.type)
        if both is None:
            return None
        fields.append(pa.field(field.name, both))
    return pa.struct([*fields, *new.values()])

"""From the types of a writer's Avro schema to Hive's that lose nothing of them, and notes on what has none. Pure."""

from kafka2hive.pipeline.decode.avro.schema import (
    Array,
    Decimal,
    Enum,
    Fixed,
    Map,
    Named,
    Plain,
    Record,
    Schema,
    Type,
    Union,
)
from kafka2hive.pipeline.decode.written_fields.followed import Followed

_MOST_DIGITS = 38
_PLAIN = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
}
_IMAGES = ("after", "before")


def envelope_row(schema: Schema) -> Record | None:
    """The row within Debezium's envelope, None where the schema is none."""
    root = schema.whole(schema.root)
    if not isinstance(root, Record) or not {"op", *_IMAGES} <= {field.name for field in root.fields}:
        return None
    after = next(field.type for field in root.fields if field.name == _IMAGES[0])
    branches = after.branches if isinstance(after, Union) else (after,)
    rows = [found for found in map(schema.whole, branches) if isinstance(found, Record)]
    return rows[0] if len(rows) == 1 else None


class AvroTypes(Followed):
    """Hive's types of one schema's; `notes` grow by what has none."""

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self._schema = schema

    def type_of(self, written: Type, place: str, within: tuple[str, ...]) -> str | None:
        """`within`: the records that are open, of which none can be within itself in Hive. Raises TooLarge."""
        with self.one():
            return self._type_of(self._schema.whole(written), place, within)

    def _type_of(self, whole: Type, place: str, within: tuple[str, ...]) -> str | None:
        match whole:
            case Union(branches):
                return self._union(branches, place, within)
            case Record(name, fields):
                if name in within:
                    return self.left_out(place, f"is {name} within itself")
                inner = ((f.name, self.type_of(f.type, f"{place}.{f.name}", (*within, name))) for f in fields)
                return self.struct(place, inner)
            case Array(items):
                inner_type = self.type_of(items, f"{place}[]", within)
                return None if inner_type is None else f"array<{inner_type}>"
            case Map(values):
                inner_type = self.type_of(values, f"{place}.*", within)
                return None if inner_type is None else f"map<string,{inner_type}>"
            case Plain() | Fixed() | Enum():
                return self._scalar(whole, place)
            case Named(name):  # whole() has no names left
                return self.left_out(place, f"is {name}, which is not defined")

    def _union(self, branches: tuple[Type, ...], place: str, within: tuple[str, ...]) -> str | None:
        kinds = {self.type_of(branch, place, within) for branch in branches if branch != Plain("null")}
        if len(kinds) == 1:
            return kinds.pop()
        return self.left_out(place, "is a union of several types" if kinds else "is always null")

    def _scalar(self, written: Plain | Fixed | Enum, place: str) -> str | None:
        match written:
            case Plain(_, Decimal(precision, scale)) | Fixed(_, _, Decimal(precision, scale)):
                if precision > _MOST_DIGITS or scale < 0 or scale > precision:
                    return self.left_out(place, f"is a decimal({precision},{scale}), which Hive has not")
                return f"decimal({precision},{scale})"
            case Plain("string") | Enum() | Fixed(_, _, "uuid"):
                return "string"
            case Fixed():
                return "binary"
            case Plain("null"):
                return self.left_out(place, "is always null")
            case Plain(_, "date"):
                return "date"
            case Plain(_, str(logical)) if "timestamp" in logical:
                return "timestamp"
            case Plain(kind, _):
                return _PLAIN[kind]

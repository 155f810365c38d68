"""The fields at the top of a writer's schema, each with the Hive type that loses nothing of it. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from kafka2hive.model.hive.type_parser import HiveTypeError
from kafka2hive.model.hive.types import parse_hive_type
from kafka2hive.pipeline.decode.avro.schema import Record, Union
from kafka2hive.pipeline.decode.avro.schema import Schema as AvroSchema
from kafka2hive.pipeline.decode.protobuf.schema import Schema as ProtobufSchema
from kafka2hive.pipeline.decode.written_fields.avro_types import AvroTypes, envelope_row
from kafka2hive.pipeline.decode.written_fields.followed import Followed, TooLarge
from kafka2hive.pipeline.decode.written_fields.protobuf_types import ProtobufTypes

_SEVERAL = "is of several types in the records of the union: left out"


@dataclass(frozen=True, slots=True)
class WrittenField:
    """`type` None: Hive has none for it. `notes`: on what of it has none."""

    name: str
    type: str | None
    notes: tuple[str, ...] = ()


def avro_fields(schema: AvroSchema, *, is_change_log: bool) -> Iterator[WrittenField]:
    """Of the record, or of all records that the message's union has; of a change log those of the row within the envelope,
    none where the schema is no envelope.
    """
    types = AvroTypes(schema)
    found: dict[str, WrittenField] = {}
    for record in _rows(schema, is_change_log):
        for field in record.fields:
            follow = partial(types.type_of, field.type, field.name, (record.name,))
            one = written_field(field.name, types, follow)
            if found.setdefault(field.name, one).type != one.type:
                found[field.name] = WrittenField(field.name, None, (f"{field.name} {_SEVERAL}",))
    yield from found.values()


def protobuf_fields(schema: ProtobufSchema, message: str) -> Iterator[WrittenField]:
    types = ProtobufTypes(schema)
    for field in schema.messages[message].fields:
        yield written_field(field.name, types, partial(types.type_of, field, field.name, (message,)))


def _rows(schema: AvroSchema, is_change_log: bool) -> Sequence[Record]:
    root = envelope_row(schema) if is_change_log else schema.whole(schema.root)
    branches = map(schema.whole, root.branches) if isinstance(root, Union) else [root]
    return [branch for branch in branches if isinstance(branch, Record)]


def written_field(name: str, types: Followed, follow: Callable[[], str | None]) -> WrittenField:
    """`follow` gives the field's type by `types`."""
    before = len(types.notes)
    try:
        kind = follow()
        if kind is not None:
            parse_hive_type(kind)
    except TooLarge as error:
        return WrittenField(name, None, (f"{name} is no type of Hive ({error}): left out",))
    except HiveTypeError as error:  # fields that differ by case, too deep
        return WrittenField(name, None, (f"{name} is no type of Hive ({error.problem}): left out",))
    return WrittenField(name, kind, tuple(types.notes[before:]))

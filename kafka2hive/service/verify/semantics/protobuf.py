"""Read Protobuf with Google's own library, by the schema of its writer; the decoders use only the library's descriptors."""

import base64
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.service.verify.semantics.values import (
    DAY,
    DURATION,
    TIMESTAMP,
    RecordValue,
    number,
    ordinal,
    other,
    unscaled,
)

_OWN = "own.proto"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_COMPILER_SECONDS = 120.0
_CONFLUENT = {
    "confluent/type/decimal.proto": 'syntax = "proto3"; package confluent.type;'
    " message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }",
    "confluent/types/decimal.proto": 'syntax = "proto3"; import public "confluent/type/decimal.proto";',
    "confluent/type/variant.proto": 'syntax = "proto3"; package confluent.type;'
    " message Variant { bytes metadata = 1; bytes value = 2; }",
    "confluent/meta.proto": 'syntax = "proto3"; package confluent; import "google/protobuf/descriptor.proto";'
    " message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }"
    " extend google.protobuf.FileOptions { Meta file_meta = 1088; }"
    " extend google.protobuf.MessageOptions { Meta message_meta = 1088; }"
    " extend google.protobuf.FieldOptions { Meta field_meta = 1088; }"
    " extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }"
    " extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }",
}
"""Confluent's files, which its serializers do not register."""


class ProtobufMessages:
    """Reads the messages of one schema. Raises ValueError and its like for a schema or a message that is damaged."""

    def __init__(self, schema: WriterSchema) -> None:
        from google.protobuf import descriptor_pb2, descriptor_pool
        from google.protobuf.message import DecodeError

        pool = descriptor_pool.DescriptorPool()
        try:
            for file in descriptor_pb2.FileDescriptorSet.FromString(_compiled(schema)).file:
                pool.AddSerializedFile(file.SerializeToString())
        except (DecodeError, subprocess.SubprocessError) as error:
            raise ValueError(str(error)) from error
        self._types: list[Any] = list(pool.FindFileByName(_OWN).message_types_by_name.values())
        self._only = pool.FindMessageTypeByName(schema.message) if schema.message else self._types[0]

    def read(self, data: bytes, indexes: Sequence[int] | None) -> RecordValue:
        """Return the message; without indexes it is of the schema's only type."""
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass

        descriptor = self._only if indexes is None else self._type_at(indexes)
        try:
            return _members(GetMessageClass(descriptor).FromString(data))
        except DecodeError as error:
            raise ValueError(str(error)) from error

    def _type_at(self, indexes: Sequence[int]) -> Any:
        """Return the type at the indexes. Raises ValueError if it depends on whether the entries of maps are counted."""
        both = []
        for counts_entries in (True, False):
            types, one = self._types, None
            for index in indexes:
                one = [t for t in types if counts_entries or not t.GetOptions().map_entry][index]
                types = list(one.nested_types)
            both.append(one)
        if both[0] is not both[1]:
            raise ValueError("the indexes name two types")
        return both[0]


def _members(message: Any) -> RecordValue:
    members = {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}
    return RecordValue(members, other(message.DESCRIPTOR.full_name))


def _field(message: Any, field: Any) -> RecordValue:
    if field.is_repeated:
        return RecordValue((), other(f"repeated {field.name}"))
    if field.has_presence and not message.HasField(field.name):
        return RecordValue(None)
    value = getattr(message, field.name)
    if field.message_type is not None:
        return _of_message(field.message_type.full_name, value)
    if field.enum_type is not None:
        return RecordValue(value, ordinal(field.enum_type.full_name))
    return RecordValue(value, number("number") if type(value) is int else other(type(value).__name__))


def _of_message(name: str, value: Any) -> RecordValue:
    match name:
        case "google.protobuf.Timestamp":
            return RecordValue(value.seconds * 10**9 + value.nanos, TIMESTAMP)
        case "google.protobuf.Duration":
            return RecordValue(value.seconds * 10**9 + value.nanos, DURATION)
        case "google.type.Date" if value.year and value.month and value.day:
            return RecordValue((date(value.year, value.month, value.day) - date(1970, 1, 1)).days, DAY)
        case "confluent.type.Decimal":
            unscaled_number = int.from_bytes(value.value, "big", signed=True)
            return RecordValue(unscaled_number, unscaled(f"{name} of scale {value.scale}", value.scale))
    if (
        name.startswith("google.protobuf.")
        and name.endswith("Value")
        and "value" in value.DESCRIPTOR.fields_by_name
    ):
        return _field(value, value.DESCRIPTOR.fields_by_name["value"])
    return _members(value)


@lru_cache(100)
def _compiled(schema: WriterSchema) -> bytes:
    """Return the descriptors of the schema and of all that it imports."""
    from google.protobuf import descriptor_pb2

    texts = _CONFLUENT | {one.name: one.text for one in schema.references} | {_OWN: schema.text}
    ready = descriptor_pb2.FileDescriptorSet()
    with TemporaryDirectory(prefix="kafka2hive-protoc-") as folder:
        root, given, result = (Path(folder) / name for name in ("texts", "given", "result"))
        for name, text in texts.items():
            path = (root / name).resolve()
            if not path.is_relative_to(root.resolve()):
                raise ValueError(f"an import cannot have the name {name[:80]!r}")
            if _BASE64.fullmatch(text.strip()):
                file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text.strip()))
                file.name = name
                ready.file.append(file)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        given.write_bytes(ready.SerializeToString())
        common = find_spec("google.type")
        folders = common.submodule_search_locations if common is not None else None
        command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={root}", "--include_imports"]
        command += [f"--proto_path=google={Path(one).parent}" for one in folders or ()]
        command += [f"--descriptor_set_in={given}", f"--descriptor_set_out={result}", _OWN]
        done = subprocess.run(command, capture_output=True, timeout=_COMPILER_SECONDS, check=False)
        if done.returncode:
            raise ValueError(f"the schema cannot be compiled: {done.stderr[:200]!r}")
        return result.read_bytes()

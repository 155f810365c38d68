"""Protobuf schemas as values. Messages and enums refer to each other by full name, so types may be recursive.

Google's compiler turns a schema's text into descriptors, in a separate process, so that no schema can crash this one.
"""

import base64
import errno
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from kafka2hive.model.errors import TableError
from kafka2hive.model.extras import install_command
from kafka2hive.model.writer_schema import SchemaInvalid, WriterSchema
from kafka2hive.registry.lookup import Recent

VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)
"""Wire types."""
WIRE_OF = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "enum"), VARINT),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("string", "bytes", "message"), LENGTH),
    "group": START,
}
"""The wire type of every field type."""
MOST_REMEMBERED = 1000
MOST_BYTES = 16 * 1024 * 1024
"""Limit of the texts of all schemas in memory; their parsed form takes many times as much."""
OWN = "kafka2hive/message.proto"
"""The name of the schema's own file."""
_COMPILER_SECONDS = 120.0
"""Time limit for one schema, which usually takes 0.1 s."""
_META = "".join(
    f"extend google.protobuf.{kind}Options {{ Meta {name}_meta = 1088; }}\n"
    for kind, name in (
        ("File", "file"),
        ("Message", "message"),
        ("Field", "field"),
        ("Enum", "enum"),
        ("EnumValue", "enum_value"),
    )
)
BUILT_IN = {
    "confluent/meta.proto": 'syntax = "proto3";\npackage confluent;\nimport "google/protobuf/descriptor.proto";\n'
    f"message Meta {{ string doc = 1; map<string, string> params = 2; repeated string tags = 3; }}\n{_META}",
    "confluent/type/decimal.proto": 'syntax = "proto3";\npackage confluent.type;\n'
    "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }\n",
    "confluent/type/variant.proto": 'syntax = "proto3";\npackage confluent.type;\n'
    "message Variant { bytes metadata = 1; bytes value = 2; }\n",
    "confluent/types/decimal.proto": 'syntax = "proto3";\nimport public "confluent/type/decimal.proto";\n',
}
"""Files that schemas import without a reference in the registry, because Confluent's serializers register none for them.

google/protobuf/*.proto come with the compiler, the other files of google/ with googleapis-common-protos.
"""
_FAULTS_OF_NAMES = frozenset(
    (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL, errno.EILSEQ)
)
"""The system's errors if an import has a name that no file can have."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
"""A descriptor as text. It has neither spaces nor semicolons, so it is no schema in Protobuf's language."""
_FAULT = re.compile(r"\S+\.proto:(\d+:\d+: )?(?!warning: )")
"""How the compiler's lines about a fault in a schema begin; other lines are logged by its libraries."""
_KINDS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    10: "group",
    11: "message",
    12: "bytes",
    13: "uint32",
    14: "enum",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
"""Names of FieldDescriptorProto.Type."""


@dataclass(frozen=True, slots=True)
class ProtobufField:
    """A field of a message.

    `kind` is a key of WIRE_OF. `label` is `optional` (its presence is tracked), `implicit`, `required` or `repeated`. `type` is
    the full name of its message or enum, or empty. `oneof` is the name of the oneof that it is a member of, or empty.
    """

    number: int
    name: str
    kind: str
    label: str
    type: str = ""
    oneof: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A message type, with its `fields` in ascending order of their numbers. `is_entry`: it is the type of a map's entries."""

    name: str
    fields: tuple[ProtobufField, ...]
    is_entry: bool = False


@dataclass(frozen=True, slots=True)
class ProtobufEnum:
    """An enum. `values` holds numbers and names in the order of declaration; if a number has several names, the first is used.

    In a `closed` enum, other numbers are invalid.
    """

    name: str
    values: tuple[tuple[int, str], ...]
    closed: bool


@dataclass(frozen=True, slots=True)
class Declaration:
    """A message type, and the types that are declared in it; both in the order of the file."""

    name: str
    is_entry: bool
    inner: tuple["Declaration", ...]


@dataclass(frozen=True, slots=True)
class ProtobufSchema:
    """A schema: all messages and enums by their full names, and the `declarations` of message types in the schema's own file."""

    messages: Mapping[str, Message]
    enums: Mapping[str, ProtobufEnum]
    declarations: tuple[Declaration, ...]

    def type_at(self, indexes: Sequence[int]) -> str | None:
        """Return the full name of the message type at the indexes in a message's head; None if it is missing or ambiguous.

        Some writers count the types of maps' entries among the nested types, as the compiler does; others do not.
        """
        names = {_name_at(self.declarations, indexes, counts_entries) for counts_entries in (True, False)}
        names.discard(None)
        return names.pop() if len(names) == 1 else None

    def only_type(self, message: str | None) -> str:
        """Return the full name of all messages' type: `message`, or the only one that the schema declares.

        Raises SchemaInvalid if it is missing or ambiguous.
        """
        if message is not None:
            if message not in self.messages or self.messages[message].is_entry:
                raise SchemaInvalid(f"the schema has no message {message}")
            return message
        if not self.declarations:
            raise SchemaInvalid("the schema has no message")
        if len(self.declarations) > 1:
            names = ", ".join(declaration.name for declaration in self.declarations[:5])
            raise SchemaInvalid(
                f"the schema has several messages; set protobuf_message to one of them: {names}"
            )
        return self.declarations[0].name


def _install() -> str:
    return f"type `{install_command('protobuf')}`, and the same on every machine with executors"


def _name_at(declarations: Sequence[Declaration], indexes: Sequence[int], counts_entries: bool) -> str | None:
    declaration: Declaration | None = None
    for index in indexes:
        counted = [one for one in declarations if counts_entries or not one.is_entry]
        if index >= len(counted):
            return None
        declaration = counted[index]
        declarations = declaration.inner
    return None if declaration is None or declaration.is_entry else declaration.name


def text_of(field: ProtobufField) -> str:
    """Return the description of the field's type in the texts of reasons."""
    kind = f"{field.kind} {field.type}" if field.type else field.kind
    return f"repeated {kind}" if field.label == "repeated" else kind


_outcomes = Recent[WriterSchema, ProtobufSchema | str](MOST_REMEMBERED, MOST_BYTES)
"""The parsed schemas, and for invalid ones the reason: the outcome for a text never changes, and compiling is slow."""


def parse(writer: WriterSchema) -> ProtobufSchema:
    """Parse the schema. Raises SchemaInvalid, and TableError if Protobuf's libraries cannot be used.

    All tables and threads of a process share the results, because each compilation starts a process.
    """
    outcome = _outcomes.get(writer)
    if outcome is None:
        try:
            outcome = read(descriptors(writer))
        except SchemaInvalid as error:
            outcome = str(error)
        _outcomes.put(writer, outcome, writer.bytes)
    if isinstance(outcome, str):
        raise SchemaInvalid(outcome)
    return outcome


def read(descriptor_set: bytes) -> ProtobufSchema:
    """Return the schema of a FileDescriptorSet that contains the file OWN. Raises the errors of `parse`."""
    files, pools = _library()
    pool = pools.DescriptorPool()
    try:
        for file in files.FileDescriptorSet.FromString(descriptor_set).file:
            pool.AddSerializedFile(file.SerializeToString())
        own = pool.FindFileByName(OWN)
    except (TypeError, ValueError, KeyError) as error:
        raise SchemaInvalid(f"not a Protobuf schema: {error}") from error
    reader = _DescriptorReader()
    declarations = tuple(map(reader.declaration, own.message_types_by_name.values()))
    return ProtobufSchema(reader.messages, reader.enums, declarations)


def _library() -> tuple[Any, Any]:
    """Return the modules `descriptor_pb2` and `descriptor_pool` of Protobuf's library. Raises TableError."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool
    except ImportError as error:
        raise TableError("decode.protoc", f"format protobuf: {error}", _install()) from error
    return descriptor_pb2, descriptor_pool


class _DescriptorReader:
    """Collects the messages and enums that the schema's own messages lead to."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.enums: dict[str, ProtobufEnum] = {}

    def declaration(self, descriptor: Any) -> Declaration:
        self._collect(descriptor)
        inner = tuple(map(self.declaration, descriptor.nested_types))
        return Declaration(descriptor.full_name, descriptor.GetOptions().map_entry, inner)

    def _collect(self, descriptor: Any) -> None:
        """Collect a message and all that its fields lead to, without recursion, because types may nest to any depth."""
        waiting = [descriptor]
        while waiting:
            one = waiting.pop()
            if one.full_name in self.messages:
                continue
            fields = sorted(one.fields, key=lambda field: field.number)
            self.messages[one.full_name] = Message(
                one.full_name, tuple(map(self._field, fields)), one.GetOptions().map_entry
            )
            waiting += [field.message_type for field in fields if field.message_type is not None]

    def _field(self, descriptor: Any) -> ProtobufField:
        kind = _KINDS[descriptor.type]
        if descriptor.enum_type is not None:
            enum = descriptor.enum_type
            values = tuple((value.number, value.name) for value in enum.values)
            self.enums[enum.full_name] = ProtobufEnum(enum.full_name, values, enum.is_closed)
        named = descriptor.message_type or descriptor.enum_type
        oneof = descriptor.containing_oneof
        return ProtobufField(
            number=descriptor.number,
            name=descriptor.name,
            kind=kind,
            label=_label(descriptor),
            type=named.full_name if named is not None else "",
            oneof=oneof.name if oneof is not None and len(oneof.fields) > 1 else "",
        )


def _label(descriptor: Any) -> str:
    if descriptor.is_repeated:
        return "repeated"
    if descriptor.is_required:
        return "required"
    return "optional" if descriptor.has_presence else "implicit"


def descriptors(writer: WriterSchema) -> bytes:
    """Return a FileDescriptorSet: the schema's own file, and all that it imports.

    Raises SchemaInvalid, and TableError if the compiler cannot be run.
    """
    imports: dict[str, str] = {}
    for reference in writer.references:
        if imports.setdefault(reference.name, reference.text) != reference.text:
            raise SchemaInvalid(f"{reference.name[:80]!r} is imported in two versions")
    files = BUILT_IN | imports
    for name in files:
        path = PurePosixPath(name)
        if not name or "\0" in name or path.is_absolute() or ".." in path.parts or name == OWN:
            raise SchemaInvalid(f"an import cannot have the name {name[:80]!r}")
    try:
        with TemporaryDirectory(prefix="kafka2hive-protoc-") as directory:
            return _compiled(Path(directory), files | {OWN: writer.text})
    except UnicodeEncodeError as error:
        raise SchemaInvalid(f"the schema cannot be written to a file: {error}") from error
    except OSError as error:
        if error.errno in _FAULTS_OF_NAMES:
            raise SchemaInvalid(f"the schema cannot be written to a file: {error}") from error
        raise TableError(
            "decode.protoc",
            f"the compiler of Protobuf schemas cannot use files in {gettempdir()}: {error}",
            "free space there, or give the executors' environment another TMPDIR",
        ) from error


def _compiled(directory: Path, schemas: Mapping[str, str]) -> bytes:
    """Compile the file OWN of `schemas`, which holds texts by their names. Raises the errors of `descriptors`, and OSError."""
    root, ready, result = directory / "texts", directory / "ready", directory / "result"
    root.mkdir()
    descriptor_files = _library()[0].FileDescriptorSet()
    for name, text in schemas.items():
        if _BASE64.fullmatch(text.strip()):
            descriptor_files.file.append(_descriptor(name, text.strip()))
            continue
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    ready.write_bytes(descriptor_files.SerializeToString())
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={root}"]
    command += [f"--proto_path=google={folder}" for folder in _common_files()]
    command += [f"--descriptor_set_in={ready}", "--include_imports", f"--descriptor_set_out={result}", OWN]
    try:
        process = subprocess.run(command, capture_output=True, timeout=_COMPILER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TableError(
            "decode.protoc", f"the compiler of Protobuf schemas failed: {error}", _install()
        ) from error
    if process.returncode:
        lines = process.stderr.decode(errors="replace").replace(f"{root}/", "").splitlines()
        why = next(filter(_FAULT.match, lines), f"the compiler ended with {process.returncode}")
        raise SchemaInvalid(f"not a Protobuf schema: {why[:300]}")
    return result.read_bytes()


def _descriptor(name: str, text: str) -> Any:
    """Return the descriptor that `text` holds in base64, under the name by which it is imported.

    confluent-kafka registers its schemas in this form, and some registries return them so.
    """
    files, _ = _library()
    from google.protobuf.message import DecodeError

    try:
        file = files.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError) as error:
        raise SchemaInvalid(
            f"not a Protobuf schema: neither its language nor a descriptor in base64 ({error})"
        ) from error
    file.name = name
    return file


def _common_files() -> Sequence[str]:
    """Return the folders that hold google/type and its siblings. Raises TableError if the compiler or these are not installed."""
    if find_spec("grpc_tools") is None:
        raise TableError("decode.protoc", "format protobuf needs Google's compiler of schemas", _install())
    common = find_spec("google.type")
    if common is None or common.submodule_search_locations is None:
        raise TableError("decode.protoc", "format protobuf needs Google's common schemas", _install())
    return [str(Path(folder).parent) for folder in common.submodule_search_locations]

"""Compile a schema to descriptors by Google's compiler, in a separate process, so that no schema can crash this one."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from kafka2hive.model.errors import TableError
from kafka2hive.model.writer_schema import WriterSchema

OWN = "kafka2hive/message.proto"
"""The name of the schema's own file."""

SECONDS = 120.0
"""Time limit for one schema, which usually takes 0.1 s."""

_INSTALL = "install kafka2hive[protobuf] (protobuf and grpcio-tools) on every machine with executors"

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
    "google/type/date.proto": 'syntax = "proto3";\npackage google.type;\n'
    "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }\n",
    "google/type/timeofday.proto": 'syntax = "proto3";\npackage google.type;\n'
    "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }\n",
}
"""Files that schemas of a registry import without a reference; the compiler itself has google/protobuf/*.proto."""


class ProtobufSchemaInvalid(ValueError):
    """The text is no Protobuf schema."""


def descriptors(writer: WriterSchema) -> bytes:
    """Return a FileDescriptorSet: the schema's own file, and all that it imports.

    Raises ProtobufSchemaInvalid, and TableError if the compiler cannot be run.
    """
    given: dict[str, str] = {}
    for reference in writer.references:
        if given.setdefault(reference.name, reference.text) != reference.text:
            raise ProtobufSchemaInvalid(f"{reference.name[:80]!r} is imported in two versions")
    files = BUILT_IN | given
    for name in files:
        path = PurePosixPath(name)
        if not name or "\0" in name or path.is_absolute() or ".." in path.parts or name == OWN:
            raise ProtobufSchemaInvalid(f"no name for an import: {name[:80]!r}")
    with TemporaryDirectory(prefix="kafka2hive-protoc-") as directory:
        root = Path(directory)
        try:
            for name, text in {**files, OWN: writer.text}.items():
                file = root / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        except (OSError, UnicodeEncodeError) as error:
            raise ProtobufSchemaInvalid(f"the schema cannot be written to a file: {error}") from error
        return _compiled(root)


def _compiled(root: Path) -> bytes:
    if find_spec("grpc_tools") is None:
        raise TableError("decode.protoc", "format protobuf needs Google's compiler of schemas", _INSTALL)
    result = root / "descriptors"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={root}", "--include_imports"]
    command += [f"--descriptor_set_out={result}", OWN]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TableError("decode.protoc", f"the compiler of Protobuf schemas: {error}", _INSTALL) from error
    if ran.returncode:
        lines = ran.stderr.decode(errors="replace").splitlines()
        errors = [line for line in lines if " warning: " not in line]
        why = errors[0].replace(f"{root}/", "") if errors else f"the compiler ended with {ran.returncode}"
        raise ProtobufSchemaInvalid(f"no Protobuf schema: {why[:300]}")
    return result.read_bytes()

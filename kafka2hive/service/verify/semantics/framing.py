"""Tell the schema of a record in Avro or Protobuf by the bytes in front of it, and read the record by that schema."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from kafka2hive.config.keys import Framing, WireFormat
from kafka2hive.model.errors import TableError
from kafka2hive.model.writer_schema import AVRO, SchemaId, WriterSchema
from kafka2hive.service.verify.semantics.avro import AvroMessages
from kafka2hive.service.verify.semantics.protobuf import ProtobufMessages
from kafka2hive.service.verify.semantics.values import RecordValue

SchemaById = Callable[[SchemaId], WriterSchema | None]
_SHORT, _LONG, _GUID = 4, 8, 16
"""The bytes of an id after the first byte: 0 before a number, 1 before a GUID."""
HEAD_HEADERS: Mapping[Framing, str] = {
    "header": "__value_schema_id",
    "azure": "content-type",
    "apicurio_global": "apicurio.value.globalId",
    "apicurio_content": "apicurio.value.contentId",
}
"""The header that names a record's schema, by framing."""


def whole_message(framing: Framing, header: bytes | None, value: bytes) -> bytes:
    """Return the record with what its header says in front. A record that the framing does not allow gets no readable head."""
    if framing == "azure":
        _, plus, guid = (header or b"").partition(b"+")
        try:
            head = b"\1" + bytes.fromhex(guid.decode().replace("-", ""))
        except ValueError:
            head = b""
        return (head if plus and len(head) == 1 + _GUID else b"\xff") + value
    if framing in ("apicurio_global", "apicurio_content"):
        return (b"\0" + header if header and len(header) == _LONG else b"\xff") + value
    if framing == "glue" and value[:2] == b"\3\5":
        try:
            return b"\3\0" + value[2:18] + zlib.decompress(value[18:])
        except zlib.error:
            return b"\xff" + value
    return (header or b"") + value


class FramedRecords:
    """Reads records in Avro and Protobuf. `schemas` is the schema of all records, or returns the one of an id."""

    def __init__(self, format: str, wire: WireFormat, schemas: WriterSchema | SchemaById) -> None:
        self._is_protobuf = format == "protobuf"
        self._wire = wire
        self._schemas = schemas
        self._readers: dict[SchemaId | None, AvroMessages | ProtobufMessages | None] = {}

    def key(self, message: bytes) -> bytes | None:
        """Return the bytes in front of the record; None if they name no schema."""
        try:
            return message[: self._head(message)[2]]
        except ValueError:
            return None

    def read(self, message: bytes) -> RecordValue:
        """Return the record. Raises ValueError if it cannot be read by its schema."""
        schema_id, indexes, begin = self._head(message)
        if schema_id not in self._readers:
            self._readers[schema_id] = self._reader(schema_id)
        reader = self._readers[schema_id]
        try:
            if isinstance(reader, ProtobufMessages):
                return reader.read(message[begin:], indexes)
            if reader is not None:
                return reader.read(message[begin:])
        except (LookupError, TypeError, AttributeError, RecursionError, ArithmeticError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error
        raise ValueError(f"no schema of id {schema_id}")

    def _reader(self, schema_id: SchemaId | None) -> AvroMessages | ProtobufMessages | None:
        """Return the reader of an id's records; None if its schema is not known, or cannot be read."""
        try:
            schema = (
                self._schemas if isinstance(self._schemas, WriterSchema) else self._schemas(schema_id or 0)
            )
            if schema is None:
                return None
            return AvroMessages(schema) if schema.kind == AVRO else ProtobufMessages(schema)
        except (TableError, ValueError, LookupError, TypeError, RecursionError, OSError, ImportError):
            return None

    def _head(self, message: bytes) -> tuple[SchemaId | None, Sequence[int] | None, int]:
        """Return the schema's id, the indexes of a Protobuf message, and where the content begins. Raises ValueError."""
        if isinstance(self._schemas, WriterSchema):
            return None, None, 0
        schema_id: SchemaId
        if self._wire.framing in ("single_object", "glue", "azure", "cloudera"):
            schema_id, begin = self._other_head(message)
            if len(message) < begin:
                raise ValueError("no schema's id")
            return schema_id, None, begin
        if message[:1] == b"\1" and self._wire.framing == "header":
            begin = 1 + _GUID
            schema_id = str(UUID(bytes=message[1:begin]))
        else:
            is_short = self._wire.framing in ("id4", "header")
            begin = 1 + (_SHORT if is_short else _LONG)
            schema_id = int.from_bytes(message[1:begin], "big")
            if message[:1] != b"\0" or len(message) < begin:
                raise ValueError("no schema's id")
        if not self._is_protobuf:
            return schema_id, None, begin
        count, begin = self._index(message, begin)
        indexes = []
        for _ in range(count):
            index, begin = self._index(message, begin)
            indexes.append(index)
        return schema_id, indexes or (0,), begin

    def _other_head(self, message: bytes) -> tuple[SchemaId, int]:
        """Return the id and where the content begins, in a framing of other serializers than Confluent's. Raises ValueError."""
        match self._wire.framing, message[:1]:
            case "single_object", b"\xc3" if message[1:2] == b"\1":
                return f"{int.from_bytes(message[2:10], 'little'):016x}", 10
            case "glue", b"\3" if message[1:2] == b"\0" and len(message) >= 18:
                return str(UUID(bytes=message[2:18])), 18
            case "azure", b"\1" if len(message) > _GUID:
                return str(UUID(bytes=message[1 : 1 + _GUID])), 1 + _GUID
            case "cloudera", b"\1":
                version = int.from_bytes(message[9:13], "big")
                return f"{int.from_bytes(message[1:9], 'big')}:{version}", 13
            case "cloudera", b"\2":
                return int.from_bytes(message[1:9], "big"), 9
            case "cloudera", b"\3":
                return int.from_bytes(message[1:5], "big"), 5
        raise ValueError("no schema's id")

    def _index(self, message: bytes, at: int) -> tuple[int, int]:
        """Return the number at a place, and the place after it."""
        number = shift = 0
        for byte in message[at : at + 3]:
            number |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return (number >> 1 if self._wire.indexes == "zigzag" else number), at
        raise ValueError("no index")

"""All ways that the Protobuf decoder has, and the schemas of the acceptance table."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.protobuf.decoder import ProtobufDecoder
from kafka2hive.model.writer_schema import PROTOBUF, SchemaReference, WriterSchema
from tests.contract.protobuf_cases import (
    ABSENT_CASES,
    IGNORED_CASES,
    IMPORTS,
    KIND_CASES,
    SHARED,
    VALUE_CASES,
    zigzag,
)


def _way(library: Any) -> Callable[..., ProtobufDecoder]:
    return lambda *columns, **more: ProtobufDecoder(DecoderSpec("protobuf", *columns, **more), library)


WAYS: dict[str, Callable[..., ProtobufDecoder]] = {"exact": _way(None)}
if LIBRARY is not None:  # scripts/setup says so when it is not
    WAYS["compiled"] = _way(LIBRARY)

ALL_CASES = KIND_CASES + ABSENT_CASES + VALUE_CASES + IGNORED_CASES


class Registry:
    """Schemas by their ids; what is asked for is counted."""

    def __init__(self, **schemas: WriterSchema) -> None:
        self.asked: list[int | str] = []
        self._schemas: dict[int | str, WriterSchema] = {
            int(name.removeprefix("id")): found for name, found in schemas.items()
        }

    def get(self, schema_id: int | str) -> WriterSchema | None:
        self.asked.append(schema_id)
        return self._schemas.get(schema_id)


def written(text: str, **references: str) -> WriterSchema:
    found = (SchemaReference(name, one) for name, one in references.items())
    return WriterSchema(PROTOBUF, text, tuple(found))


@cache
def declarations(syntax: str) -> list[str]:
    return sorted({text for of, text, *_ in ALL_CASES if of == syntax})


@cache
def table_schema(syntax: str) -> WriterSchema:
    """A message M0, M1 .. for each of `declarations`, behind the shared types: the compiler is asked once."""
    shared = SHARED.replace("SIGN", "optional" if syntax == "proto2" else "")
    messages = [f"message M{at} {{ {text} }}" for at, text in enumerate(declarations(syntax))]
    return written("\n".join([f'syntax = "{syntax}";', IMPORTS, shared, *messages]))


def message_of(syntax: str, text: str) -> str:
    return f"M{declarations(syntax).index(text)}"


def indexes_of(syntax: str, text: str) -> Sequence[int]:
    return (2 + declarations(syntax).index(text),)  # behind Point and Chain


def head(schema_id: int, *indexes: int) -> bytes:
    return (
        b"\0" + schema_id.to_bytes(4, "big") + zigzag(len(indexes)) + b"".join(zigzag(one) for one in indexes)
    )

"""All ways that the Avro decoder has; every test of the contract takes each of them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.avro.decoder import AvroDecoder
from kafka2hive.model.writer_schema import AVRO, SchemaReference, WriterSchema
from kafka2hive.plugins import Decoder, Reason
from tests.contract.decode_cases import Dead
from tests.harness.outcomes import row_outcomes


def _way(library: Any) -> Callable[..., AvroDecoder]:
    return lambda *columns, **more: AvroDecoder(DecoderSpec("avro", *columns, **more), library)


WAYS: dict[str, Callable[..., AvroDecoder]] = {"exact": _way(None)}
if LIBRARY is not None:  # scripts/setup says so when it is not
    WAYS["compiled"] = _way(LIBRARY)


class Registry:
    """Schemas by their ids; what is asked for is counted."""

    def __init__(self, **schemas: object) -> None:
        self.asked: list[int | str] = []
        self._schemas: dict[int | str, object] = {
            int(name.removeprefix("id")): found for name, found in schemas.items()
        }

    def get(self, schema_id: int | str) -> WriterSchema | None:
        self.asked.append(schema_id)
        found = self._schemas.get(schema_id)
        return found if isinstance(found, WriterSchema) or found is None else written(found)


def written(schema: object, *references: object) -> WriterSchema:
    return WriterSchema(
        AVRO, json.dumps(schema), tuple(SchemaReference("", json.dumps(one)) for one in references)
    )


def record(**fields: object) -> dict[str, object]:
    return {
        "type": "record",
        "name": "Message",
        "fields": [{"name": n, "type": t} for n, t in fields.items()],
    }


def framed(schema_id: int, data: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + data


def outcomes(decoder: Decoder, messages: Sequence[bytes]) -> list[Any]:
    """Return for each message the row's values, or Dead."""
    return [Dead(one.code) if isinstance(one, Reason) else one for one in row_outcomes(decoder, messages)]

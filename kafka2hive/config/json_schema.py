"""The JSON schema of the map, for editors: generated from the models, committed as configs/kafka2hive.schema.json."""

import json

from kafka2hive.config.schema import Map

SCHEMA_FILE = "kafka2hive.schema.json"
MODELINE = f"# yaml-language-server: $schema=./{SCHEMA_FILE}"


def json_schema() -> dict[str, object]:
    """Draft 2020-12; what stands between keys (semantic checks) is not in it."""
    schema = Map.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "kafka2hive map"}


def json_schema_text() -> str:
    """The file's content."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"

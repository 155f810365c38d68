"""The JSON schema of the map, for editors: generated from the models, committed as configs/kafka2hive.schema.json.

`python -m kafka2hive.config.json_schema > configs/kafka2hive.schema.json` writes it again.
"""

import json
import sys

from kafka2hive.config.schema import Map

SCHEMA_FILE = "kafka2hive.schema.json"
MODELINE = f"# yaml-language-server: $schema=./{SCHEMA_FILE}"


def json_schema() -> dict[str, object]:
    """Draft 2020-12; what stands between keys (semantic checks) is not in it."""
    schema = _without_noise(Map.model_json_schema(by_alias=True))
    assert isinstance(schema, dict)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "kafka2hive map", **schema}


def _without_noise(value: object) -> object:
    """Without pydantic's titles (keys in capitals) and defaults of null, which say nothing to an editor's user."""
    if isinstance(value, list):
        return [_without_noise(item) for item in value]
    if not isinstance(value, dict):
        return value
    noise = {"title"} if isinstance(value.get("title"), str) else set()
    if "default" in value and value["default"] is None:
        noise.add("default")
    return {key: _without_noise(item) for key, item in value.items() if key not in noise}


def json_schema_text() -> str:
    """The file's content."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(json_schema_text())

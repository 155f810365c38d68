"""Every example of a map fits the JSON schema and loads, and every key is documented."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka2hive.config.json_schema import MODELINE, json_schema
from kafka2hive.config.load import load_map
from kafka2hive.config.yaml.document import read_document
from kafka2hive.config.yaml.problems import Problems
from tests.pages.map_pages import map_pages

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "configs").glob("*.yaml"))
ENVIRON = {
    "KAFKA_BROKERS": "kafka:9092",
    "KAFKA_USER": "u",
    "KAFKA_PASSWORD": "p",
    "HIVE_PASSWORD": "h",
    "REGISTRY_PASSWORD": "r",
    "LINEAGE_TOKEN": "l",
    "AIRFLOW_TOKEN": "n",
}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
SILENT = {"$schema", "$defs", "title", "description", "default", "examples"}


def faults(schema: Any, value: Any, where: str = "") -> list[str]:  # noqa: C901  a branch for each keyword
    """What of `value` does not fit the schema; refuses keywords it does not know, so that none is passed over."""
    if isinstance(schema, bool):
        return [] if schema else [f"{where}: nothing may stand here"]
    found: list[str] = []
    members: dict[str, Any] = value if isinstance(value, dict) else {}
    for keyword, rule in schema.items():
        match keyword:
            case "$ref":
                found += faults(json_schema()["$defs"][rule.rsplit("/", 1)[1]], value, where)
            case "type":
                kinds = [rule] if isinstance(rule, str) else rule
                allowed = tuple(kind for name in kinds for kind in TYPES[name])
                if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
                    found.append(f"{where}: {value!r} is no {rule}")
            case "enum":
                found += [] if value in rule else [f"{where}: {value!r} not in {rule}"]
            case "anyOf" | "oneOf":
                fitting = [branch for branch in rule if not faults(branch, value, where)]
                if not fitting or (keyword == "oneOf" and len(fitting) > 1):
                    found.append(f"{where}: {value!r} fits {len(fitting)} of {keyword}")
            case "required":
                found += [f"{where}: {key} is missing" for key in rule if key not in members]
            case "properties":
                found += [
                    f
                    for key in rule.keys() & members.keys()
                    for f in faults(rule[key], value[key], f"{where}.{key}")
                ]
            case "additionalProperties":
                others = members.keys() - schema.get("properties", {}).keys()
                found += [f for key in others for f in faults(rule, value[key], f"{where}.{key}")]
            case "propertyNames":
                found += (
                    [f for key in value for f in faults(rule, key, where)] if isinstance(value, dict) else []
                )
            case "items":
                found += (
                    [f for item in value for f in faults(rule, item, where)]
                    if isinstance(value, list)
                    else []
                )
            case "pattern":
                if isinstance(value, str) and not re.search(rule, value):
                    found.append(f"{where}: {value!r} is not {rule}")
            case "minimum" | "exclusiveMinimum" | "maximum" if isinstance(value, int | float):
                good = {"minimum": value >= rule, "maximum": value <= rule, "exclusiveMinimum": value > rule}
                found += [] if good[keyword] else [f"{where}: {value} is out of bounds"]
            case "minLength" | "minItems" if isinstance(value, str | list):
                found += [] if len(value) >= rule else [f"{where}: too short"]
            case _ if keyword in SILENT or keyword in (
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "minLength",
                "minItems",
            ):
                pass
            case _:
                raise AssertionError(f"unknown keyword {keyword}")
    return found


def data_of(path: Path) -> Any:
    problems = Problems()
    data = read_document(path.read_text(), problems)
    assert not problems.all()
    return data


def keys_of(schema: Any) -> set[str]:
    """Every key that the map's sections may have."""
    sections = [schema, *schema["$defs"].values()]
    return {key for section in sections for key in section["properties"]}


def test_there_are_the_three_examples() -> None:
    assert {"smallest.yaml", "binlog.yaml", "full.yaml"} <= {path.name for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_fits_the_schema_loads_and_points_at_it(path: Path) -> None:
    assert path.read_text().splitlines()[0] == MODELINE
    assert faults(json_schema(), data_of(path)) == []
    assert load_map(str(path), ENVIRON).tables


def test_the_smallest_example_is_at_most_ten_lines() -> None:
    assert len((ROOT / "configs" / "smallest.yaml").read_text().splitlines()) <= 10


@pytest.mark.parametrize(
    "change",
    [
        {"servise": "x"},
        {"trigger": 10},
        {"limits": {"epoch_bytes": "12 MBs"}},
        {"limits": {"open_files": 0}},
        {"tables": []},
        {"tables": [{"table": "a.b", "start": "newest"}]},
        {"tables": [{"table": "a.b", "metadata": {"tpic": "x"}}]},
        {"kafka": {}},
        {"service": "a b"},
    ],
)
def test_the_schema_tells_an_editor_what_is_malformed(change: dict[str, object]) -> None:
    assert faults(json_schema(), {**data_of(ROOT / "configs" / "smallest.yaml"), **change})


def test_every_key_stands_in_the_full_example() -> None:
    def keys(data: Any) -> set[str]:
        if isinstance(data, list):
            return set().union(*map(keys, data)) if data else set()
        return {*map(str, data)}.union(*map(keys, data.values())) if isinstance(data, dict) else set()

    full = ROOT / "configs" / "full.yaml"
    instead = set(re.findall(r"^ +# (\w+): ", full.read_text(), re.MULTILINE))  # what excludes another key
    assert keys_of(json_schema()) - keys(data_of(full)) - instead == set()


def test_every_key_is_documented() -> None:
    text = "".join(page.read_text() for page in map_pages(ROOT / "docs"))
    assert sorted(key for key in keys_of(json_schema()) if f"`{key}`" not in text) == []


def test_the_map_in_the_documentation_loads(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "configuration.md").read_text()
    first = text.split("```yaml\n", 1)[1].split("```", 1)[0]
    assert yaml.safe_load(first)["service"] == "flights"
    (tmp_path / "map.yaml").write_text(first)
    assert load_map(str(tmp_path / "map.yaml"), {}).service == "flights"

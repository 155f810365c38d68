"""The shape of the map: data against the schema, every mistake at its place, and whatever part is sound for further checks."""

import difflib
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from kafka2hive.config import schema
from kafka2hive.config.problems import Path, Problems

Model = TypeVar("Model", bound=BaseModel)

DECISIVE = frozenset({"topics", "pattern", "columns", "format", "create"})
"""Keys of a table whose absence would make other checks see mistakes that are none."""

_PLAIN = {
    "string_type": "expected a text; put it in quotes",
    "bool_type": "expected true or false",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "list_type": "expected a list",
    "dict_type": "expected keys with values",
    "model_type": "expected keys with values",
    "missing": "is required",
}


@dataclass(frozen=True, slots=True)
class Sound:
    """The sections that are well-formed; None (or not in `tables`) where one is not. `tables` by index in the map.

    `kafka` is as written: its names can be judged whatever its values are.
    """

    service: str | None
    kafka: dict[str, object]
    storage: schema.Storage | None
    hive: schema.Hive | None
    spark: schema.Spark | None
    dead_letters: schema.DeadLetters | None
    defaults: schema.TableOptions | None
    tables: dict[int, schema.Table]


def closest(word: str, known: Iterable[str]) -> str:
    """The known word most like `word`, empty when none is like it."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, 1, 0.6)
    return by_lower[found[0]] if found else ""


def known_keys(path: Path) -> list[str]:
    """The keys that may stand in the mapping at `path`; empty where any may."""
    model: type[BaseModel] | None = schema.Map
    steps = iter(path)
    for step in steps:
        if isinstance(step, str) and model is not None:
            fields = {info.alias or name: info for name, info in model.model_fields.items()}
            model = _model_in(fields[step].annotation) if step in fields else None
            if step == "columns":
                next(steps, None)  # its keys are names of columns
    return [info.alias or name for name, info in model.model_fields.items()] if model else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    parts = typing.get_args(annotation)
    if not parts:
        return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return next((model for model in map(_model_in, parts) if model), None)


def _path_in(data: object, loc: tuple[str | int, ...]) -> Path:
    """A pydantic location without what is not in the data: tags of unions, `[key]` marks. The last step may be missing."""
    path: list[str | int] = []
    for index, step in enumerate(loc):
        if isinstance(data, dict):
            match = next((key for key in data if key == step or str(key) == step), None)
            if match is not None:
                path.append(match)
                data = data[match]
            elif index == len(loc) - 1 and step != "[key]":
                path.append(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            path.append(step)
            data = data[step]
    return tuple(path)


def check_shape(data: object, problems: Problems) -> schema.Map | None:
    """The whole map as a model; None with problems when anything is malformed."""
    if not isinstance(data, dict):
        problems.add((), "expected keys with values: service, kafka, storage, tables")
        return None
    try:
        return schema.Map.model_validate(data)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            _report(data, detail["type"], detail["loc"], detail["msg"], detail.get("ctx", {}), problems)
        return None


def _report(
    data: object,
    kind: str,
    loc: tuple[str | int, ...],
    text: str,
    context: dict[str, Any],
    problems: Problems,
) -> None:
    path = _path_in(data, loc)
    if kind == "extra_forbidden" and path[-3:-2] == ("columns",) and _is_end_of_type(str(path[-1])):
        problems.add(path, _TYPE_ENDS_HERE)
    elif kind == "extra_forbidden":
        keys = known_keys(path[:-1])
        near = closest(str(path[-1]), keys)
        problems.add(path, "unknown key" if near else f"unknown key; there are {', '.join(keys)}", near)
    elif kind == "literal_error":
        expected = str(context["expected"]).replace("'", "")
        given = value_at(data, path)
        near = closest(given, expected.replace(" or ", ", ").split(", ")) if isinstance(given, str) else ""
        problems.add(path, f"expected {expected}", near)
    elif kind == "value_error":
        problems.add(path, str(context["error"]))
    elif kind == "string_pattern_mismatch":
        problems.add(path, "expected letters, digits, _ and -, at most 64, beginning with a letter or digit")
    elif kind == "missing" and path == ("tables",):
        problems.add(path, "is required: at least one table")
    elif kind == "string_type" and path[-2:-1] == ("columns",) and _is_end_of_type(str(path[-1])):
        problems.add(path, _TYPE_ENDS_HERE)
    elif kind == "string_type" and value_at(data, path) is None:
        problems.add(path, "has no value")
    else:
        problems.add(path, _PLAIN.get(kind, text[:1].lower() + text[1:]))


_TYPE_ENDS_HERE = (
    "is the end of the type before it: within { } YAML takes a comma for the next key;"
    ' quote types that hold a comma, as in {price: "decimal(10,2)"}'
)


def _is_end_of_type(key: str) -> bool:
    """Closes more brackets than it opens, as `2)` of an unquoted `decimal(10,2)` does."""
    return key.count(")") > key.count("(") or key.count(">") > key.count("<")


def value_at(data: object, path: Path) -> object:
    """What stands at `path`; None when nothing does."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def sound_parts(data: object) -> Sound:
    """Each section by itself, unknown keys left aside, so that one mistake does not hide another section's."""
    top: dict[Any, Any] = data if isinstance(data, dict) else {}
    listed = top.get("tables")
    tables = {
        index: table
        for index, item in enumerate(listed if isinstance(listed, list) else [])
        if (table := _sound(schema.Table, item)) is not None
    }
    service, kafka = top.get("service"), top.get("kafka")
    return Sound(
        service=service if isinstance(service, str) else None,
        kafka=kafka if isinstance(kafka, dict) else {},
        storage=_sound(schema.Storage, top.get("storage")),
        hive=_sound(schema.Hive, top.get("hive")),
        spark=_sound(schema.Spark, top.get("spark", {})),
        dead_letters=_sound(schema.DeadLetters, top.get("dead_letters", {})),
        defaults=_sound(schema.TableOptions, top.get("defaults", {})),
        tables=tables,
    )


def _sound(model: type[Model], data: object) -> Model | None:
    """The section without its mistakes: unknown keys are left aside, malformed ones where nothing depends on them."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    optional = {info.alias or name for name, info in model.model_fields.items() if not info.is_required()}
    for detail in details:
        path = _path_in(data, detail["loc"])
        if detail["type"] != "extra_forbidden":
            path = path[:1]
            if not optional - DECISIVE >= set(path) or not path:
                return None
        data = _without(data, path)
    return model.model_validate(data)


def _without(data: object, path: Path) -> object:
    step, rest = path[0], path[1:]
    if isinstance(data, dict):
        if not rest:
            return {key: value for key, value in data.items() if key != step}
        return {key: _without(value, rest) if key == step else value for key, value in data.items()}
    if not isinstance(data, list):
        return data
    return [_without(value, rest) if index == step else value for index, value in enumerate(data)]

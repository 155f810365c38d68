"""JSON Schemas as values: their nodes are read as they are written, and references are resolved."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from kafka2hive.model.writer_schema import SchemaInvalid, WriterSchema

Node = Any
"""A schema or a part of one, as JSON: a mapping, or a boolean."""

MOST_STEPS = 32
"""Limit of references that lead to further references."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A schema. `others`: schemas from the registry by the names by which it refers to them."""

    root: Node
    others: Mapping[str, Node]

    def resolve(self, node: Node, base: Node) -> tuple[Node, Node, str]:
        """Return the node that a node refers to, the schema that it is in, and the last reference, empty for none.

        `base`: the schema that the node is in. Raises SchemaInvalid if a reference leads nowhere.
        """
        reference = ""
        for _ in range(MOST_STEPS):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                return node, base, reference
            reference = node["$ref"]
            name, _, pointer = reference.partition("#")
            if name:
                base = self._other(name)
            node = _at(base, pointer, reference)
        raise SchemaInvalid(f"{reference[:80]} leads in a circle")

    def _other(self, name: str) -> Node:
        for known, schema in self.others.items():
            if name in (known, known.rpartition("/")[2]) or name.rpartition("/")[2] == known:
                return schema
        raise SchemaInvalid(f"the schema refers to {name[:80]}, which the registry does not have with it")


def parse(writer: WriterSchema) -> JsonSchema:
    """Parse the schema. Raises SchemaInvalid."""
    others = {reference.name: _json(reference.text) for reference in writer.references}
    return JsonSchema(_json(writer.text), others)


def _json(text: str) -> Node:
    try:
        node = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaInvalid(f"the schema is not JSON: {error}") from error
    if not isinstance(node, dict | bool):
        raise SchemaInvalid("the schema is JSON, but no object")
    return node


def _at(base: Node, pointer: str, reference: str) -> Node:
    """Return the node at a JSON pointer (RFC 6901), or with an anchor of this name."""
    node = base
    if pointer and not pointer.startswith("/"):
        found = next((one for one in _definitions(base) if one.get("$anchor") == pointer), None)
        if found is None:
            raise SchemaInvalid(f"{reference[:80]} leads nowhere")
        return found
    for step in pointer.split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise SchemaInvalid(f"{reference[:80]} leads nowhere")
    return node


def _definitions(base: Node) -> list[dict[str, Any]]:
    parts = [base.get(key) for key in ("$defs", "definitions")] if isinstance(base, dict) else []
    return [one for part in parts if isinstance(part, dict) for one in part.values() if isinstance(one, dict)]

"""Mistakes in what looks schemas up: an outage or a wrong answer taken for an unknown id, another registry's ids, damage."""

from tests.mutants.text_mutant import TextMutant

CLIENT = "tests/unit/registry/test_registry_client.py"
LOOKUP = "tests/unit/registry/test_registry_lookup.py"
FRAMINGS = "tests/contract/test_framings.py"
SCHEMA_HEADERS = "tests/unit/pipeline/task/test_schema_headers.py"
HEADERS = "kafka2hive.pipeline.task.schema_headers"
FRAMES = "kafka2hive.pipeline.decode.registered.frames"

MUTANTS = (
    TextMutant(
        "an id that cannot be asked for is an unknown one",
        "kafka2hive.registry.lookup",
        (
            (
                "            raise _unavailable(schema_id, error.message) from error\n",
                "            return None\n",
            ),
        ),
        LOOKUP,
    ),
    TextMutant(
        "while the registry is away an id is an unknown one",
        "kafka2hive.registry.lookup",
        (("            raise _unavailable(schema_id, why)\n", "            return None\n"),),
        LOOKUP,
    ),
    TextMutant(
        "a known id asks the registry",
        "kafka2hive.registry.lookup",
        (
            (
                "        before = known.schema if known is not None else self._kept.read(schema_id)\n",
                "        before = None\n",
            ),
        ),
        LOOKUP,
    ),
    TextMutant(
        "remembered schemas are bounded by their number alone",
        "kafka2hive.registry.recent",
        ((" or self._bytes > self._most_bytes)", ")"),),
        LOOKUP,
    ),
    TextMutant(
        "the schema that came first is forgotten, not the one used longest ago",
        "kafka2hive.registry.recent",
        (("            self._kept.move_to_end(key)\n", ""),),
        LOOKUP,
    ),
    TextMutant(
        "room that a forgotten schema took stays taken",
        "kafka2hive.registry.recent",
        (("                self._bytes -= self._kept.popitem", "                self._kept.popitem"),),
        LOOKUP,
    ),
    TextMutant(
        "what a schema refers to has no bound",
        "kafka2hive.registry.client",
        (
            (
                "            if sum(len(one.text) for one in found.values()) > MOST_REFERRED:\n",
                "            if False:\n",
            ),
        ),
        CLIENT,
    ),
    TextMutant(
        "a silent registry has no such schema",
        "kafka2hive.registry.client",
        (
            (
                '        raise SchemaRegistryUnavailable(f"the schema registry gives no answer ({told})")\n',
                "        return self._urls[0] + path, Missing(MISSING_SCHEMA)\n",
            ),
        ),
        CLIENT,
    ),
    TextMutant(
        "wrong credentials mean an unknown id",
        "kafka2hive.registry.answers",
        (("        return Refused(status)\n", "        return Missing(MISSING_SCHEMA)\n"),),
        CLIENT,
    ),
    TextMutant(
        "wrong credentials are tried again and again",
        "kafka2hive.registry.answers",
        (("        return Refused(status)\n", '        return Busy("no")\n'),),
        CLIENT,
    ),
    TextMutant(
        "any 404 means an unknown id",
        "kafka2hive.registry.answers",
        (
            (
                "    if status == 404 and code in _MISSING:\n        return Missing(code)\n",
                "    if status == 404:\n        return Missing(MISSING_SCHEMA)\n",
            ),
        ),
        CLIENT,
    ),
    TextMutant(
        "a missing subject means an unknown id",
        "kafka2hive.registry.client",
        (("            if answer.code != MISSING_SCHEMA:\n", "            if False:\n"),),
        CLIENT,
    ),
    TextMutant(
        "one address that is behind decides that an id is unknown",
        "kafka2hive.registry.client",
        (
            (
                "                        missing = missing or (url + path, answer)\n",
                "                        return url + path, answer\n",
            ),
        ),
        CLIENT,
    ),
    TextMutant(
        "a response that ended in the middle is a whole one",
        "kafka2hive.registry.http",
        (("        if len(body) < (length or 0) or not (", "        if not ("),),
        CLIENT,
    ),
    TextMutant(
        "a damaged file is trusted",
        "kafka2hive.registry.kept_text",
        (("    if head != _HEAD + hashlib.sha256(body).hexdigest().encode():\n", "    if not head:\n"),),
        LOOKUP,
    ),
    TextMutant(
        "what another registry's file says is trusted",
        "kafka2hive.registry.kept",
        (
            (
                "        if kept is None or (kept.registry, kept.schema_id) != (self._registry, schema_id):\n",
                "        if kept is None:\n",
            ),
        ),
        LOOKUP,
    ),
    TextMutant(
        "all registries share one directory",
        "kafka2hive.registry.kept",
        (("sorted(set(normal))", "sorted(set(normal[:0]))"),),
        LOOKUP,
    ),
    TextMutant(
        "a good file is replaced",
        "kafka2hive.registry.kept",
        (("        if before is None:\n", "        if True:\n"),),
        LOOKUP,
    ),
    TextMutant(
        "an unknown id is believed at the first answer",
        "kafka2hive.registry.lookup",
        (("        if schema is None and len(self._unknown) < MOST_CONFIRMED:\n", "        if False:\n"),),
        LOOKUP,
    ),
    TextMutant(
        "ids without end are asked for one by one",
        "kafka2hive.registry.lookup",
        (("        if len(self._unknown) >= MOST_UNKNOWN:\n", "        if False:\n"),),
        LOOKUP,
    ),
    TextMutant(
        "a command that only looks writes",
        "kafka2hive.registry.lookup",
        (("        if self._keeps and (other", "        if (other"),),
        LOOKUP,
    ),
    TextMutant(
        "a kept schema is never compared with the registry's",
        "kafka2hive.registry.lookup",
        (("        if not self._same(before, now):\n", "        if False:\n"),),
        LOOKUP,
    ),
    TextMutant(
        "a schema that is only formatted otherwise is another one",
        "kafka2hive.pipeline.decode.registered.same",
        (("            return parse_avro(one) == parse_avro(other)\n", "            return one == other\n"),),
        LOOKUP,
    ),
    TextMutant(
        "a schema is compared by its own text, not by what it refers to",
        "kafka2hive.pipeline.decode.registered.same",
        (("    if one == other:\n", "    if one.text == other.text:\n"),),
        LOOKUP,
    ),
    TextMutant(
        "a refused schema stays in memory",
        "kafka2hive.registry.lookup",
        (("            self._known.forget(schema_id)\n", ""),),
        LOOKUP,
    ),
    TextMutant(
        "a schema that was compared once is never compared again",
        "kafka2hive.registry.lookup",
        (
            (
                "        return self._remember(schema_id, before, self._compare_seconds)\n",
                "        return self._remember(schema_id, before, float('inf'))\n",
            ),
        ),
        LOOKUP,
    ),
    TextMutant(
        "a schema that the registry lost is never compared again",
        "kafka2hive.registry.lookup",
        (
            (
                "            return self._remember(schema_id, before, UNKNOWN_SECONDS)\n",
                "            return self._remember(schema_id, before, float('inf'))\n",
            ),
        ),
        LOOKUP,
    ),
    TextMutant(
        "a registry that is away is asked for each kept schema",
        "kafka2hive.registry.lookup",
        (("        if began < self._not_compared_before:\n", "        if False:\n"),),
        LOOKUP,
    ),
    TextMutant(
        "what another process kept meanwhile is not compared",
        "kafka2hive.registry.lookup",
        (
            (
                "            self._refuse_change(schema_id, other, schema)  # another process was told otherwise\n",
                "            pass\n",
            ),
        ),
        LOOKUP,
    ),
    TextMutant(
        "the first header of a name counts",
        HEADERS,
        (("            if name == self._name:\n", "            if name == self._name and not found:\n"),),
        SCHEMA_HEADERS,
    ),
    TextMutant(
        "what stands behind an id in a header is taken for data",
        HEADERS,
        (("_are_indexes(rest, self._is_zigzag) if self._is_protobuf else not rest", "True"),),
        SCHEMA_HEADERS,
    ),
    TextMutant(
        "a key is read by the header of its value",
        "kafka2hive.pipeline.task.record_columns",
        (
            (
                "SchemaHeaders(OF_KEYS, table.key_format, wire.indexes)",
                'SchemaHeaders("__value_schema_id", table.key_format, wire.indexes)',
            ),
        ),
        SCHEMA_HEADERS,
    ),
    TextMutant(
        "all messages with a GUID are read with one schema",
        FRAMES,
        (
            (
                "for number, found in _groups(which.reshape(-1)):",
                "for number, found in _groups(0 * which.reshape(-1)):",
            ),
        ),
        FRAMINGS,
    ),
    TextMutant(
        "of an id in 8 bytes the last 4 count",
        FRAMES,
        (("    for byte in range(1, head):\n", "    for byte in range(head - 4, head):\n"),),
        FRAMINGS,
    ),
    TextMutant(
        "indexes are always zigzag",
        "kafka2hive.pipeline.decode.protobuf.heads",
        (('    is_zigzag = wire.indexes == "zigzag"\n', "    is_zigzag = True\n"),),
        FRAMINGS,
    ),
    TextMutant(
        "a schema is asked for by its GUID as if it were a number",
        "kafka2hive.registry.client",
        (('"ids" if isinstance(schema_id, int) else "guids"', '"ids"'),),
        CLIENT,
    ),
)

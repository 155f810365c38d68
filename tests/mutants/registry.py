"""Mistakes in what looks schemas up: an outage or a wrong answer taken for an unknown id, another registry's ids, damage."""

from tests.mutants.text_mutant import TextMutant

CLIENT = "tests/unit/registry/test_registry_client.py"
LOOKUP = "tests/unit/registry/test_registry_lookup.py"

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
        (("        schema = kept or self._ask(schema_id)\n", "        schema = self._ask(schema_id)\n"),),
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
        (("        if self.read(schema_id) is None:\n", "        if True:\n"),),
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
        (("        if kept is None and self._keeps:\n", "        if kept is None:\n"),),
        LOOKUP,
    ),
)

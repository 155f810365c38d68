"""Mistakes in telling why Kafka refuses a client, and in what a map may make a client load."""

from tests.mutants.text_mutant import TextMutant

REFUSALS = "tests/unit/kafka/test_kafka_refusals.py"
CERTIFICATE = "tests/unit/kafka/test_server_certificate.py"
READS = "tests/unit/pipeline/task/test_task_refused.py"
HOSTILE = "tests/unit/cli/test_hostile_texts.py"
GROUPS = "tests/unit/kafka/test_group_commits.py"

MUTANTS = (
    TextMutant(
        "each commit of group offsets is by a client of its own",
        "kafka2hive.kafka.groups",
        (("        if problems:\n            self._close()\n", "        self._close()\n"),),
        GROUPS,
    ),
    TextMutant(
        "a client that failed to set group offsets is kept",
        "kafka2hive.kafka.groups",
        (("        if problems:\n            self._close()\n", ""),),
        GROUPS,
    ),
    TextMutant(
        "what a kept client fails to set is not tried by another",
        "kafka2hive.kafka.groups",
        (("        was_kept = self._consumer is not None\n", "        was_kept = False\n"),),
        GROUPS,
    ),
    TextMutant(
        "what a new client fails to set is tried again at once",
        "kafka2hive.kafka.groups",
        (("        was_kept = self._consumer is not None\n", "        was_kept = True\n"),),
        GROUPS,
    ),
    TextMutant(
        "a broker that ends its connections refuses the client for certain",
        "kafka2hive.kafka.access.refusal",
        (
            (
                'port may speak another protocol",\n        _LISTENER,\n        certain=False,\n',
                'port may speak another protocol",\n        _LISTENER,\n',
            ),
        ),
        REFUSALS,
    ),
    TextMutant(
        "a TLS handshake that ends at once may mean any other protocol",
        "kafka2hive.kafka.access.refusal",
        (
            (r"|closed by peer.*state SSL_HANDSHAKE", ""),
            ("state (APIVERSION_QUERY|UP|AUTH_HANDSHAKE)", "state (APIVERSION_QUERY|UP|AUTH_HANDSHAKE|SSL_HANDSHAKE)"),
        ),
        REFUSALS,
    ),
    TextMutant(
        "an uncertain refusal hides a certain one",
        "kafka2hive.kafka.access.refusal",
        (("refusal.certain >= chosen.certain", "refusal.certain <= chosen.certain"),),
        REFUSALS,
    ),
    TextMutant(
        "a refusal is told for ever",
        "kafka2hive.kafka.access.heard",
        (
            (
                "for at, refusal in list(self._refusals.values()) if at >= recent)",
                "for _at, refusal in list(self._refusals.values()))",
            ),
        ),
        REFUSALS,
    ),
    TextMutant(
        "every try of a client is a line in the log",
        "kafka2hive.kafka.access.heard",
        (("_SILENT_SECONDS = 60.0", "_SILENT_SECONDS = 0.0"),),
        REFUSALS,
    ),
    TextMutant(
        "what a client says is kept without bounds",
        "kafka2hive.kafka.access.heard",
        (("while len(kept) > _KEPT:", "while len(kept) > 1_000_000:"),),
        REFUSALS,
    ),
    TextMutant(
        "a secret stands in what a broker answers",
        "kafka2hive.kafka.librdkafka",
        (("    why = redacted(properties, told.why)\n", "    why = told.why\n"),),
        REFUSALS,
    ),
    TextMutant(
        "a name in a certificate is not compared",
        "kafka2hive.kafka.access.server_certificate",
        (('"https") != "none"', '"none") != "none"'),),
        CERTIFICATE,
    ),
    TextMutant(
        "an expired certificate is one of an unknown authority",
        "kafka2hive.kafka.access.server_certificate",
        (("_TIME = frozenset({9, 10})", "_TIME = frozenset({9})"),),
        CERTIFICATE,
    ),
    TextMutant(
        "a worker that is refused waits until it stalls",
        "kafka2hive.pipeline.task.fetch.fetch",
        (("                    raise refused\n", "                    pass\n"),),
        READS,
    ),
    TextMutant(
        "a worker is refused by a broker that only restarts",
        "kafka2hive.pipeline.task.fetch.fetch",
        (("certain=not stalled", "certain=False"),),
        READS,
    ),
    TextMutant(
        "tables of a worker that is refused have no manifest",
        "kafka2hive.pipeline.task.run",
        (("if task.table not in told):", "if task.table in told):"),),
        READS,
    ),
    TextMutant(
        "a map loads a library into the process that checks it",
        "kafka2hive.config.librdkafka",
        (('    "plugin.library.paths": "it loads foreign code into the service",\n', ""),),
        "tests/unit/config/test_foreign_maps.py",
    ),
    TextMutant(
        "a terminal obeys what a record or a broker says",
        "kafka2hive.cli.outcome",
        (("print(printable(str(error)), file", "print(error, file"),),
        HOSTILE,
    ),
    TextMutant(
        "a screen's text passes as it is",
        "kafka2hive.cli.outcome",
        (("print(printable_coloured(text))", "print(text)"),),
        HOSTILE,
    ),
    TextMutant(
        "a message begins a line of the log",
        "kafka2hive.observe.log",
        (('_LINE_BEGIN.sub("\\n  ", printable(text))', "printable(text)"),),
        HOSTILE,
    ),
    TextMutant(
        "a colour of others hides text",
        "kafka2hive.model.printable",
        (("0|[1-4]|2[2-4]", "0|[1-9]|2[2-4]"),),
        HOSTILE,
    ),
    TextMutant(
        "the text of a file is shown as the name of a client",
        "kafka2hive.config.build",
        (("        or referenced.get(name, False)\n", ""),),
        "tests/unit/config/test_foreign_maps.py",
    ),
    TextMutant(
        "the text of a file is shown as the name of a group",
        "kafka2hive.config.reading.references",
        (
            (
                '_SHOWN = frozenset({("kafka", "group.id")})',
                "_SHOWN: frozenset[tuple[str, str]] = frozenset()",
            ),
        ),
        "tests/unit/config/test_foreign_maps.py",
    ),
)  # fmt: skip

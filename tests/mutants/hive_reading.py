"""Mistakes in what decides whether Hive reads files as they are written."""

from tests.mutants.text_mutant import mistakes

GATE = "kafka2hive.service.run.hive_gate"
PARTITIONS = "kafka2hive.service.hive.partitions"
PROPERTIES = "kafka2hive.hive.properties"
CHECK = "kafka2hive.hive.check"
STORED = "kafka2hive.hive.stored_as"
READING = "kafka2hive.service.verify.hive_reading"
LINES = "kafka2hive.service.verify.line_forms"
BY_GATE = "tests/unit/service/run/test_partition_gate.py"
BY_PROPERTIES = "tests/unit/hive/test_hive_properties.py"
BY_VERIFY = "tests/unit/service/verify/test_hive_reading.py"

HIVE_READING = (
    *mistakes(
        GATE,
        BY_GATE,
        (
            "a partition that was not answered about counts as compared",
            (
                "            if self._agreement(table, question).is_current:\n    ",
                "            if self._agreement(table, question):\n    ",
            ),
        ),
        (
            "a contradiction is forgotten while Hive is away",
            (
                "if known := self._contradictions.get(table.name):\n                    raise",
                "if known := None:\n                    raise",
            ),
        ),
        (
            "records are read again and again for a partition that contradicts the map",
            (
                "        if known := self._contradictions.get(table.name):\n            self._require",
                "        if known := None:\n            self._require",
            ),
        ),
        (
            "the partitions of a refused table count as compared",
            ("        self._partitions.forget(name)\n", ""),
        ),
    ),
    *mistakes(
        PARTITIONS,
        BY_GATE,
        (
            "a partition whose number Hive spells otherwise counts as missing",
            ("value.lstrip('0') if value.isdigit() else value", "value"),
        ),
        (
            "only the first partition is compared",
            ("for path in paths:\n        description", "for path in paths[:1]:\n        description"),
        ),
        ("a run forgets the partitions in use", ("self._known.pop(key) for key", "self._known[key] for key")),
    ),
    *mistakes(
        PROPERTIES,
        BY_PROPERTIES,
        (
            "properties of the table do not override the SerDe's",
            ("{**table.serde_properties, **overriding}", "{**overriding, **table.serde_properties}"),
        ),
        (
            "an unknown property of a SerDe is accepted",
            (' or "what it changes for readers is unknown"', ""),
            (
                "        yield SuspectProperty(SERDE",
                "        if why:\n            yield SuspectProperty(SERDE",
            ),
        ),
        (
            "a property is harmless by its beginning alone",
            ('if key == name or (name.endswith(".") and', "if key.startswith(name) or ("),
        ),
        (
            "a switch is suspect whatever its value",
            ("return _OFF.fullmatch(value) is not None", "return False"),
        ),
    ),
    *mistakes(
        CHECK,
        BY_PROPERTIES,
        (
            "partitions are compared without their columns",
            ("for each in _columns(spec, partition)]", "for each in ()]"),
        ),
        (
            "partitions are compared without their properties",
            ("for each in _properties(spec, partition, name)]", "for each in ()]"),
        ),
        ("buckets are accepted", ('("clustered by", table.clustered,', '("clustered by", "",')),
        (
            "the first column that no file can have hides the others",
            ("            parse_hive_type(column.type)\n", "            parse_hive_type(columns[0].type)\n"),
        ),
    ),
    *mistakes(
        STORED,
        BY_PROPERTIES,
        ("digits are taken for the delimiter itself", ("return chr(int(text) % 256) if", "return text if")),
        (
            "the class that reads the rows is not compared",
            ("if table.serde and table.serde not in", "if table.serde and () and table.serde not in"),
        ),
    ),
    *mistakes(
        READING,
        BY_VERIFY,
        (
            "verify compares old partitions with the present map",
            (
                "(spec := spec_as_compared(self.tables.catalogue.expected(name), record))",
                "(spec := self.tables.catalogue.expected(name))",
            ),
        ),
        (
            "verify compares a partition with its oldest files only",
            ("if spec is not None and spec not in known:", "if spec is not None and not known:"),
        ),
    ),
    *mistakes(
        LINES,
        BY_VERIFY,
        (
            "verify reads old lines with the present delimiter",
            ("return self.earlier.get(path, self.of_map)", "return self.of_map"),
        ),
    ),
)

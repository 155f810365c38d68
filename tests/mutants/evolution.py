"""Mistakes around columns by the records' schemas, and around schemas and fields that a map is drafted from or checked by."""

from tests.mutants.text_mutant import TextMutant

RUN = "tests/unit/service/run/test_run_evolution.py"
FIELDS = "tests/unit/pipeline/decode/test_written_fields.py"
EFFECTIVE = "tests/unit/service/test_effective_columns.py"
TASKS = "tests/unit/pipeline/task/test_task_schemas.py"
CLIENT = "tests/unit/registry/test_registry_client.py"
LINES = "tests/unit/ledger/test_hive_lines.py"
VERIFY = "tests/unit/service/audit/test_verify.py"
SAMPLE = "tests/unit/service/test_sample.py"
OWN = "tests/unit/service/test_own_schemas.py"
CONFIG = "tests/unit/config/test_config_registry.py"

_DIFFERENCES = "kafka2hive.pipeline.decode.written_fields.differences"
_EVOLUTION = "kafka2hive.service.run.evolution"

EVOLUTION = (
    TextMutant(
        "a task decodes records whatever new fields their schema has",
        "kafka2hive.pipeline.task.chunk_decoder",
        (('None if table.schema_evolution == "ignore" else WrittenFieldsCheck(table)', "None"),),
        TASKS,
    ),
    TextMutant(
        "a field of Avro is not compared",
        "kafka2hive.pipeline.decode.avro.decoder",
        (("                self._check.avro(schema_id, schema)\n", "                pass\n"),),
        TASKS,
    ),
    TextMutant(
        "a field of Protobuf is not compared",
        "kafka2hive.pipeline.decode.protobuf.decoder",
        (("            self._check.protobuf(schema_id, parsed, name)\n", "            pass\n"),),
        TASKS,
    ),
    TextMutant(
        "a schema that fills no column makes dead letters although the map says stop",
        "kafka2hive.pipeline.decode.avro.decoder",
        (("                self._check.unresolvable(schema_id, str(error))\n", "                pass\n"),),
        TASKS,
    ),
    TextMutant(
        "which schema a task has met is forgotten on the way to the driver",
        "kafka2hive.pipeline.task.failures",
        (("error.remedy, error.writer)", "error.remedy)"),),
        TASKS,
    ),
    TextMutant(
        "stop lets pass what can be no column",
        "kafka2hive.pipeline.decode.written_fields.check",
        (('if found.columns if self._table.schema_evolution == "add" else found:', "if found.columns:"),),
        FIELDS,
    ),
    TextMutant(
        "a column gets the name of another one",
        _DIFFERENCES,
        (("if (other := self._taken.get(field.name.lower())) is not None:", "if other := None:"),),
        FIELDS,
    ),
    TextMutant(
        "a field becomes a column although the map ignores it",
        _DIFFERENCES,
        (("        if field.name in self._ignored:\n            return\n", ""),),
        FIELDS,
    ),
    TextMutant(
        "an added column stays as narrow as it was",
        _DIFFERENCES,
        (("                if both != held:\n", "                if False:\n"),),
        FIELDS,
    ),
    TextMutant(
        "a column of the map is widened",
        _DIFFERENCES,
        ((" if column.name.lower() in self._added else None", ""),),
        FIELDS,
    ),
    TextMutant(
        "a struct loses the fields that a later schema has not",
        "kafka2hive.pipeline.decode.written_fields.merged",
        (
            (
                "        fields.append(pa.field(field.name, both))\n",
                "        if other is not None:\n            fields.append(pa.field(field.name, both))\n",
            ),
        ),
        FIELDS,
    ),
    TextMutant(
        "a number becomes text",
        "kafka2hive.pipeline.decode.written_fields.merged",
        ((" or pa.types.is_string(held) or pa.types.is_string(written)", ""),),
        FIELDS,
    ),
    TextMutant(
        "the fields of an envelope become columns",
        "kafka2hive.pipeline.decode.written_fields.fields",
        (("envelope_row(schema) if is_change_log else ", ""),),
        FIELDS,
    ),
    TextMutant(
        "types are followed without end",
        "kafka2hive.pipeline.decode.written_fields.followed",
        (('            raise TooLarge(f"with it', '            print(f"with it'),),
        "tests/contract/test_hostile_schemas.py",
    ),
    TextMutant(
        "types are followed to any depth",
        "kafka2hive.pipeline.decode.written_fields.followed",
        (("        if self._depth >= DEEPEST:\n", "        if self._depth >= 10**9:\n"),),
        "tests/contract/test_hostile_schemas.py",
    ),
    TextMutant(
        "a field's name becomes a type's text whatever it is",
        "kafka2hive.pipeline.decode.written_fields.followed",
        (("if all(map(may_name_a_field, name)):", "if name:"),),
        FIELDS,
    ),
    TextMutant(
        "a start does not know the columns that were added",
        "kafka2hive.service.run.owned_tables",
        (
            (
                "        if started.owned.state.added != table.added:\n            settings = self.resolve(table)\n",
                "",
            ),
        ),
        RUN,
    ),
    TextMutant(
        "commands do not know the columns that were added",
        "kafka2hive.service.shared.tables",
        (("                added=added.get(name, ()),\n", ""),),
        RUN,
    ),
    TextMutant(
        "a command refuses records for their schema",
        "kafka2hive.service.shared.tables",
        (
            (
                'replace(self.catalogue.resolve(table), schema_evolution="ignore")',
                "replace(self.catalogue.resolve(table))",
            ),
        ),
        RUN,
    ),
    TextMutant(
        "plan does not know the columns that were added",
        "kafka2hive.service.plan",
        (("    know_added_columns(wiring, [table for _, table in chosen if table is not None])\n", ""),),
        RUN,
    ),
    TextMutant(
        "plan does not show what the registry brings",
        "kafka2hive.service.plan",
        (("                _evolve(catalogue, newest, table, settings)\n", "                pass\n"),),
        RUN,
    ),
    TextMutant(
        "tasks are not told of an added column",
        "kafka2hive.service.run.table_steps",
        (
            (
                "(table, change)\n            self.settings[table.name] = self._owned_tables.resolve(table)\n",
                "(table, change)\n            self._owned_tables.resolve(table)\n",
            ),
        ),
        RUN,
    ),
    TextMutant(
        "a column is added that no ledger knows",
        "kafka2hive.service.run.table_steps",
        (
            (
                "            self.publish(table, change)\n            self.settings",
                "            self.settings",
            ),
        ),
        RUN,
    ),
    TextMutant(
        "records with new fields wait for the next interval, and so does each epoch that failed",
        "kafka2hive.service.run.epochs",
        (
            (
                "self._clock.monotonic())\n        return self._in_flight.epoch",
                "self._clock.monotonic())\n        for name in self._in_flight.tables:\n"
                "            self._owned_tables.tables[name].planned_at = self._in_flight.began\n"
                "        return self._in_flight.epoch",
            ),
        ),
        f"{RUN} tests/unit/service/run/test_next_tries.py",
    ),
    TextMutant(
        "stop adds columns",
        _EVOLUTION,
        (('        if table.rule.schema_evolution == "stop":\n', "        if False:\n"),),
        RUN,
    ),
    TextMutant(
        "a table that stopped for its schema does not look at the newest one before it resumes",
        _EVOLUTION,
        ((" or differed or now", " or now"),),
        RUN,
    ),
    TextMutant(
        "a task's word on a schema is believed without end",
        _EVOLUTION,
        (("            if writers:\n", "            if False:\n"),),
        RUN,
    ),
    TextMutant(
        "a registry that is away sets the table aside",
        "kafka2hive.service.evolution.newest",
        (("                return None\n        if newest", "                raise\n        if newest"),),
        RUN,
    ),
    TextMutant(
        "a column of the map is filled as an added one",
        "kafka2hive.service.evolution.effective",
        (("        if name not in there:\n", "        if True:\n"),),
        EFFECTIVE,
    ),
    TextMutant(
        "an ignored field stays a column",
        "kafka2hive.service.evolution.effective",
        ((" if a.name not in rule.ignored_fields", ""),),
        EFFECTIVE,
    ),
    TextMutant(
        "any 404 says that there is no subject",
        "kafka2hive.registry.answers",
        (("status == 404 and code in _MISSING", "status == 404"),),
        CLIENT,
    ),
    TextMutant(
        "a snapshot with added columns says that older versions may read it",
        "kafka2hive.ledger.snapshot.lines",
        (("    since=2,\n", ""),),
        LINES,
    ),
    TextMutant(
        "an edit of added columns is not told",
        "kafka2hive.ledger.audit.lines",
        (("line.life is Life.CUMULATIVE]", 'line.life is Life.CUMULATIVE and line.tag != "added"]'),),
        VERIFY,
    ),
    TextMutant(
        "keys about fields of schemas are taken where they mean nothing",
        "kafka2hive.config.checks.services.registry",
        (("        if key in checked.own.given:\n", "        if False:\n"),),
        CONFIG,
    ),
    TextMutant(
        "validate does not look at the schemas of the map itself",
        "kafka2hive.cli.commands.before_run.validate",
        (("        check_own_schemas(service_map)\n", ""),),
        OWN,
    ),
    TextMutant(
        "a column without a field in the schema of the map is taken",
        "kafka2hive.pipeline.decode.written_fields.own",
        (("        if absent := self._absent(keys):\n            return absent\n", ""),),
        OWN,
    ),
    TextMutant(
        "a column of another type than the schema of the map is taken",
        "kafka2hive.pipeline.decode.written_fields.own",
        (("            return str(error)\n        return", "            pass\n        return"),),
        OWN,
    ),
    TextMutant(
        "the registry is not asked for keys in Protobuf",
        "kafka2hive.pipeline.task.writer_schemas",
        (('not in ("avro", "protobuf") or not has_keys', 'not in ("avro",) or not has_keys'),),
        "tests/unit/pipeline/task/test_record_parts.py",
    ),
    TextMutant(
        "a draft gives a row's member the name of a change's column",
        "kafka2hive.service.sample.recognised",
        (("if column.name.lower() in (*CHANGE_COLUMNS, BEFORE):", "if column.name == BEFORE:"),),
        "tests/unit/service/test_sample.py",
    ),
    TextMutant(
        "a draft nests deeper than Hive's types",
        "kafka2hive.service.sample.columns",
        (("_nests(kind) > MAX_NESTING", "_nests(kind) > 99"),),
        "tests/unit/service/test_sample.py",
    ),
    TextMutant(
        "a draft takes bytes for decimals where no envelope is unpacked",
        "kafka2hive.service.sample.connect_columns",
        (("has_decimals=not (are_bytes and prefix)", "has_decimals=True"),),
        "tests/unit/service/test_sample.py",
    ),
    TextMutant(
        "records with any number of fields are CSV",
        "kafka2hive.service.sample.csv_fields",
        ((" and count >= SHARE * len(values)", ""),),
        SAMPLE,
    ),
    TextMutant(
        "a place where one text is a number becomes a number",
        "kafka2hive.service.sample.csv_fields",
        (("if there and all(len(text) < 400 and", "if there and any(len(text) < 400 and"),),
        SAMPLE,
    ),
    TextMutant(
        "a column is put between those of ORC files and the metadata",
        _DIFFERENCES,
        (("        elif self._is_closed:\n", "        elif False:\n"),),
        FIELDS,
    ),
    TextMutant(
        "one subject without an answer keeps all others from being asked",
        "kafka2hive.service.evolution.newest",
        (
            (
                "                if isinstance(error, SchemaRegistryUnavailable):\n",
                "                if True:\n",
            ),
        ),
        RUN,
    ),
    TextMutant(
        "a table that stopped for its schema does not see that Hive was altered",
        "kafka2hive.service.run.table_steps",
        (
            (
                "        if table.aside is not None:  # its columns may be Hive's, and altered since\n",
                "        if False:\n",
            ),
        ),
        RUN,
    ),
)

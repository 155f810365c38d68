"""Mistakes in what a record's own schema says: the audit's list of its own notices those of units and scales."""

from tests.mutants.text_mutant import mistakes

TYPES = "kafka2hive.decode.semantics.types"
CONNECT = "kafka2hive.decode.semantics.connect"
RECORDS = "kafka2hive.decode.semantics.records"
AVRO = "kafka2hive.decode.avro.resolve"
AVRO_VALUES = "kafka2hive.decode.avro.exact"
AVRO_SCHEMAS = "kafka2hive.decode.schemas.avro"
PROTOBUF = "kafka2hive.decode.protobuf.resolve"
PROTOBUF_VALUES = "kafka2hive.decode.protobuf.values"
LOOSE = "kafka2hive.decode.values.loose"
LOOSE_TEXTS = "kafka2hive.decode.values.loose_texts"
JSON_TEXTS = "kafka2hive.decode.values.json_texts"
FAR_TIMES = "kafka2hive.decode.values.far_times"
OWN_FORMS_TEST = "tests/unit/service/verify/test_semantics_own_forms.py"
KAFKA_ROWS = "kafka2hive.service.verify.kafka_rows"
SAMPLE_TEST = "tests/unit/service/verify/test_record_sample.py"
JUDGE = "kafka2hive.service.verify.semantics.judge"
AUDIT_TEST = "tests/unit/service/verify/test_semantics.py"
FRAMED_TEST = "tests/unit/service/verify/test_semantics_framed.py"
CONTRACT_TEST = "tests/contract/test_semantic_types.py"

RECORDS_THAT_SAY_WHAT_THEY_ARE = (
    *mistakes(
        TYPES,
        AUDIT_TEST,
        (
            "Debezium's milliseconds are microseconds",
            (
                '"io.debezium.time.Timestamp": SemanticType(Kind.INSTANT, "ms")',
                '"io.debezium.time.Timestamp": SemanticType(Kind.INSTANT, "us")',
            ),
        ),
        (
            "a year is a number of days",
            (
                '"io.debezium.time.Year": SemanticType(Kind.YEAR)',
                '"io.debezium.time.Year": SemanticType(Kind.DAY, "d")',
            ),
        ),
        (
            "a time of day is an instant",
            (
                "name: SemanticType(Kind.TIME_OF_DAY, unit)",
                "name: SemanticType(Kind.INSTANT, unit)",
            ),
        ),
    ),
    *mistakes(
        CONNECT,
        AUDIT_TEST,
        (
            "every decimal has a scale of 2",
            ("else Unscaled(scale, _with_scale(name, scale))", "else Unscaled(2, _with_scale(name, scale))"),
        ),
        (
            "the map's unit counts before the record's",
            ("return replace(source, unit=form.unit, form=form)", "return source"),
        ),
    ),
    *mistakes(
        CONNECT,
        CONTRACT_TEST,
        ("a scale that is none is 0", ("return scale if str(scale) == text and", "return scale if")),
        (
            "bytes without a name are text in a decimal",
            ('return Mismatch("bytes of no known scale")', "return None"),
        ),
    ),
    *mistakes(
        RECORDS,
        CONTRACT_TEST,
        (
            "a text that ends within the schema is a whole one",
            ("None if document is None else self._judged(document)", "self._judged(document)"),
        ),
        (
            "all records of a batch have the schema of the first",
            ("if not number and same.all():", "if not number and same.any():"),
        ),
        (
            "a record after those of eight schemas has none",
            (
                "if not may_have.all():\n            yield",
                "may_have[:] = False\n        if True:\n            yield",
            ),
        ),
    ),
    *mistakes(
        AVRO,
        CONTRACT_TEST,
        (
            "a decimal of no known scale in Avro has a scale of 0",
            (
                "return None if connect_type.scale is None else plan.AvroUnscaled(None, connect_type.scale)",
                "return plan.AvroUnscaled(None, connect_type.scale or 0)",
            ),
        ),
    ),
    *mistakes(
        AVRO,
        FRAMED_TEST,
        ("days of Kafka Connect in Avro are instants", ('instant=of_unit != "d")', "instant=True)")),
        (
            "Avro's milliseconds are microseconds",
            ('_UNIT_OF = {"millis": "ms"', '_UNIT_OF = {"millis": "us"'),
        ),
        (
            "Avro's wall clocks are instants",
            (
                '_UNIT_OF[name]], kind == "timestamp")',
                '_UNIT_OF[name]], kind != "time")',
            ),
        ),
        (
            "the map's unit counts before Kafka Connect's name in Avro",
            (
                "semantic_type = SEMANTIC_TYPES.get(connect_type.name)\n",
                "semantic_type = None if unit else SEMANTIC_TYPES.get(connect_type.name)\n",
            ),
        ),
        (
            "times of day in Avro fill timestamps",
            ('if kind == "time" or dtype != NAIVE:', "if dtype != NAIVE:"),
        ),
        (
            "every decimal in Avro has a scale of 2",
            ("return plan.AvroUnscaled(size, logical.scale)", "return plan.AvroUnscaled(size, 2)"),
        ),
    ),
    *mistakes(
        AVRO_VALUES,
        FRAMED_TEST,
        (
            "the bytes of a UUID in Avro are in the order of Windows",
            ("str(UUID(bytes=cursor.take(16)))", "str(UUID(bytes_le=cursor.take(16)))"),
        ),
    ),
    *mistakes(
        AVRO_SCHEMAS,
        FRAMED_TEST,
        (
            "a logical type of Avro is ignored",
            ("return logical if known else _connect_type(node)", "return _connect_type(node)"),
        ),
    ),
    *mistakes(
        PROTOBUF_VALUES,
        FRAMED_TEST,
        (
            "the nanoseconds of a Timestamp in Protobuf are microseconds",
            ("number=seconds * 10**9 + nanos,", "number=seconds * 10**9 + nanos * 1000,"),
        ),
        (
            "a Duration in Protobuf has no nanoseconds",
            ("seconds * 10**9 + nanos, 9, dtype)", "seconds, 0, dtype)"),
        ),
        (
            "a Date in Protobuf has the day before the month",
            ("year, month, day = _numbers(", "year, day, month = _numbers("),
        ),
        (
            "every Decimal in Protobuf has a scale of 2",
            ("number, max(scale, 0), dtype)", "number, 2, dtype)"),
        ),
    ),
    *mistakes(
        PROTOBUF,
        FRAMED_TEST,
        (
            "a wrapped number in Protobuf ignores the map's unit",
            (
                "value = single(field, schema, dtype, unit)",
                "value = single(field, schema, dtype, unit and 's')",
            ),
        ),
    ),
    *mistakes(
        JUDGE,
        FRAMED_TEST,
        (
            "the audit judges no integers",
            ('    if pa.types.is_integer(dtype):\n        return "integer"\n', ""),
        ),
    ),
    *mistakes(
        LOOSE,
        OWN_FORMS_TEST,
        (
            "words for true are false",
            (
                "dict.fromkeys(words.true, True) | dict.fromkeys(words.false, False)",
                "dict.fromkeys(words.true, False) | dict.fromkeys(words.false, True)",
            ),
        ),
        ("the decimal comma is left out", ('.replace(marks.decimal, ".")', '.replace(marks.decimal, "")')),
        ("NaN is kept where it is NULL", ('if kept == "null":', 'if kept == "keep":')),
        (
            "an empty string is 0",
            (
                "changes.add(EMPTY, 1)\n        return None",
                'changes.add(EMPTY, 1)\n        return take(WholeNumber("0"), path)',
            ),
        ),
        (
            "numbers in quotes lose their sign",
            ("else WholeNumber(text)", 'else WholeNumber(text.lstrip("-"))'),
        ),
        ("whole numbers are ten times as large", ('"0" * exponent', '"0" * (exponent + 1)')),
    ),
    *mistakes(
        JSON_TEXTS,
        OWN_FORMS_TEST,
        (
            "texts of JSON lose their blanks",
            (
                "text[start:end]) for number in node.columns",
                'text[start:end].replace(" ", "")) for number in node.columns',
            ),
        ),
        (
            "a whole message has what follows it",
            ("text[at:end]) for number in tree.columns", "text[at:]) for number in tree.columns"),
        ),
        (
            "canonical texts keep the order of keys",
            ("for key, inner in sorted(value, key=itemgetter(0)))", "for key, inner in value)"),
        ),
    ),
    *mistakes(
        FAR_TIMES,
        OWN_FORMS_TEST,
        ("infinity is the first time", ('return far(match[1] != "-")', 'return far(match[1] == "-")')),
    ),
    *mistakes(
        LOOSE_TEXTS,
        OWN_FORMS_TEST,
        (
            "the decimal comma of CSV is left out",
            ('pc.replace_substring(plain, marks.decimal, ".")', "plain"),
        ),
    ),
    *mistakes(
        KAFKA_ROWS,
        SAMPLE_TEST,
        ("the rows of compacted files are not judged", ("if sample is not None:", "if False:")),
    ),
)

"""Mistakes in the Protobuf decoder: guards of the wire, what counts of fields that stand twice, types and indexes."""

from tests.mutants.text_mutant import TextMutant

PROTOBUF = "kafka2hive.pipeline.decode.protobuf"
TABLE = "tests/contract/test_protobuf_table.py"
SCHEMAS = "tests/contract/test_protobuf_schemas.py"

MUTANTS = (
    TextMutant(
        "an int32 of the wire may be beyond 32 bits",
        f"{PROTOBUF}.cursor",
        (("        if not low <= number <= high:\n", "        if not low * 2**40 <= number <= high * 2**40:\n"),),
        TABLE,
    ),
    TextMutant(
        "a field that is not repeated may be packed",
        f"{PROTOBUF}.cursor",
        (("    if not repeated or wire != LENGTH or", "    if wire != LENGTH or"),),
        TABLE,
    ),
    TextMutant(
        "a group ends with the end of any group",
        f"{PROTOBUF}.cursor",
        (("            if wire == END and inner == number:\n", "            if wire == END:\n"),),
        TABLE,
    ),
    TextMutant(
        "a oneof keeps the members before the last one",
        f"{PROTOBUF}.exact",
        (("                places.clear()\n", "                places.copy()\n"),),
        TABLE,
    ),
    TextMutant(
        "of two messages in one field the last one counts alone",
        f"{PROTOBUF}.exact",
        (("            places = gather(cursor, ranges)\n", "            places = gather(cursor, ranges[-1:])\n"),),
        TABLE,
    ),
    TextMutant(
        "a required field may be missing",
        f"{PROTOBUF}.exact",
        (('            if slot.label == "required" and not places:\n', '            if slot.label == "" and not places:\n'),),
        f"{TABLE}::test_a_value_comes_out_as_the_table_says",
    ),
    TextMutant(
        "an absent field without presence is NULL",
        f"{PROTOBUF}.exact",
        (("            return lambda cursor, places: read(cursor, places) if places else absent\n",
          "            return lambda cursor, places: read(cursor, places) if places else None and absent\n"),),
        TABLE,
    ),
    TextMutant(
        "a number that a closed enum does not have is taken",
        f"{PROTOBUF}.values",
        (("    if known and number not in known:\n", "    if known and number in known and number not in known:\n"),),
        TABLE,
    ),
    TextMutant(
        "text of Protobuf that no column takes need not be UTF-8",
        f"{PROTOBUF}.shapes",
        (("            cursor.text()\n", "            cursor.octets()\n"),),
        TABLE,
    ),
    TextMutant(
        "a Decimal's bytes are a number without a sign",
        f"{PROTOBUF}.values",
        (('int.from_bytes(octets, "big", signed=True)', 'int.from_bytes(octets, "big", signed=False)'),),
        TABLE,
    ),
    TextMutant(
        "a Decimal of a negative scale is one without a scale",
        f"{PROTOBUF}.values",
        ((" * 10 ** max(-scale, 0)\n", "\n"),),
        TABLE,
    ),
    TextMutant(
        "a Decimal without bytes is 0",
        f"{PROTOBUF}.values",
        (("    if not octets:\n        raise Refused", "    if octets is None:\n        raise Refused"),),
        TABLE,
    ),
    TextMutant(
        "a Duration may have two signs",
        f"{PROTOBUF}.values",
        ((" or seconds * nanos < 0:\n", ":\n"),),
        TABLE,
    ),
    TextMutant(
        "all messages of a schema are of its first type",
        f"{PROTOBUF}.decoder",
        (("type_at(parsed.declared, indexes)", "type_at(parsed.declared, (0,))"),),
        SCHEMAS,
    ),
    TextMutant(
        "an index that writers count differently is guessed",
        f"{PROTOBUF}.heads",
        (("    return found.pop() if len(found) == 1 else None\n", "    return found.pop() if found else None\n"),),
        SCHEMAS,
    ),
)  # fmt: skip

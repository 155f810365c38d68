"""The registry section, and whether tables and registry need each other."""

import json
import re
from urllib.parse import urlsplit

from kafka2hive.config.keys.columns import RecordPart
from kafka2hive.config.keys.services import RegistryOptions
from kafka2hive.config.rules.columns import uses_registry_for_keys
from kafka2hive.config.rules.table_options import CheckedTable, declared_columns
from kafka2hive.config.yaml.problems import Problems
from kafka2hive.config.yaml.shape import MapSections

_FORM = "expected http(s)://host:port[/path], several addresses of one registry separated by commas"
_PRINTABLE = re.compile(r"[!-~]+")


def check_registry(options: RegistryOptions, problems: Problems) -> None:
    """The keys of the section among themselves."""
    path = ("registry", "url")
    for url in options.urls:
        if fault := fault_of_url(url):
            near = f"http://{url}" if not fault_of_url(f"http://{url}") and "://" not in url else ""
            problems.add(path, fault, near)
            return
    if len({urlsplit(url).scheme for url in options.urls}) > 1:
        problems.add(
            path, "all addresses begin with http:// or all with https://: they take the same secrets"
        )
    _check_credentials(options, problems)
    if options.key_file is not None and options.certificate_file is None:
        problems.add(("registry", "key_file"), "is used with certificate_file")
    for key in ("ca_file", "certificate_file"):
        if getattr(options, key) is not None and urlsplit(options.urls[0]).scheme == "http":
            problems.add(("registry", key), "is used with https:// only")


def fault_of_url(url: str) -> str:
    """What is wrong with one address, empty when nothing is."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        (parts.hostname or "").encode("idna")
    except (
        ValueError
    ):  # a port that is no number, brackets that hold no IPv6 address, a name that is too long
        return _FORM
    if not good or not _PRINTABLE.fullmatch(url):
        return _FORM
    if "@" in parts.netloc:
        return "user and password do not belong into the URL: write them as registry.username and registry.password"
    if "?" in url or "#" in url:
        return "? and # cannot stand in a registry's URL"
    return ""


def _check_credentials(options: RegistryOptions, problems: Problems) -> None:
    if options.token is not None and (options.username is not None or options.password is not None):
        problems.add(("registry", "token"), "excludes username and password: keep one of the two")
    elif options.username is not None and options.password is None:
        problems.add(("registry", "username"), "needs registry.password")
    elif options.password is not None and options.username is None:
        problems.add(("registry", "password"), "needs registry.username")
    if options.username is not None and ":" in options.username:
        problems.add(("registry", "username"), "a user of basic authentication has no colon in the name")
    if options.token is not None and not _PRINTABLE.fullmatch(options.token):
        problems.add(("registry", "token"), "a token is one word of ASCII characters")


def check_schemas(checked: CheckedTable, has_registry: bool) -> None:
    """Whether a table with format avro or protobuf knows where its records' schemas are."""
    table = checked.table
    for format, fault_of in (("avro", fault_of_schema), ("protobuf", fault_of_proto)):
        key = f"{format}_schema"
        text = getattr(table, key)
        if table.format != format:
            if text is not None and _contradicts(checked, key):
                checked.add(checked.path(key), f"is used with format {format}, the table's is {table.format}")
        elif text is not None:
            if fault := fault_of(text):
                checked.add(checked.path(key), fault)
        elif not has_registry:
            message = (
                f"format {format} needs a registry section (records that name their schema by id) or {key} "
                f"(plain {format.capitalize()} records)"
            )
            checked.add(checked.path("format"), message)
    _check_evolution(checked)
    _check_framing(checked)
    if table.protobuf_message is not None and table.protobuf_schema is None:
        message = (
            "is used with protobuf_schema: where records name their schema by id, they name the message, too"
        )
        checked.add(checked.path("protobuf_message"), message)


def _check_evolution(checked: CheckedTable) -> None:
    """Keys about fields of schemas, for a table whose records name none."""
    table = checked.table
    own_schema = {"avro": table.avro_schema, "protobuf": table.protobuf_schema}
    if table.schema_evolution != "ignore" and table.format in own_schema and own_schema[table.format] is None:
        return
    for key in ("ignored_fields", "subject"):
        if key in checked.own.given:
            message = "is used with schema_evolution add or stop, and avro or protobuf records that name their schema by id"
            checked.add(checked.path(key), message)


def _check_framing(checked: CheckedTable) -> None:
    """Keys about the heads of records and keys, for a table that has none with a schema's id."""
    table = checked.table
    named = {table.format} if getattr(table, f"{table.format}_schema", None) is None else set()
    if any(column.part is RecordPart.KEY for column in declared_columns(table)):
        named.add(table.key_format)
    if "framing" in checked.own.given and not named & {"avro", "protobuf", "json_schema"}:
        message = "is used with avro, protobuf or json_schema records or keys that name their schema by id"
        checked.add(checked.path("framing"), message)
    if "protobuf_indexes" in checked.own.given and "protobuf" not in named:
        message = "is used with protobuf records or keys that name their schema by id"
        checked.add(checked.path("protobuf_indexes"), message)


def _contradicts(checked: CheckedTable, key: str) -> bool:
    """Whether schema and format were written for each other: a table may well turn off what `defaults` say."""
    return key in checked.own.given or "format" not in checked.own.given


def fault_of_proto(text: str) -> str:
    """As fault_of_schema: the compiler of schemas is not asked for a map."""
    if "message" not in text:
        return "expected a Protobuf schema as text, or file:/path of one: it declares no message"
    return ""


def fault_of_schema(text: str) -> str:
    """What is wrong with a writer's schema as far as its form tells, empty when nothing is."""
    try:
        schema = json.loads(text)
    except ValueError as error:
        return f"expected an Avro schema as JSON text, or file:/path of one: {error}"
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return 'expected the schema of a record, {"type": "record", "name": .., "fields": [..]}'
    if not isinstance(schema.get("fields"), list):
        return "the record's schema has no list of fields"
    return ""


def check_registry_is_used(sections: MapSections, tables: list[CheckedTable], problems: Problems) -> None:
    """`tables` are all of the map."""
    own = [checked for checked in tables if checked.table.format in ("avro", "protobuf")]
    uses = [c for c in own if getattr(c.table, f"{c.table.format}_schema") is None]
    if sections.has_registry and tables and not uses and not any(map(uses_registry_for_keys, tables)):
        message = "no table uses it: "
        if own:
            found = own[0].table.format
            message += (
                f"all tables with format {found} have {'an' if found == 'avro' else 'a'} {found}_schema"
            )
        else:
            message += "no table has format avro or protobuf"
        problems.add(("registry",), message)

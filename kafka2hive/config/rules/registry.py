"""The rules of the registry section, and of tables that need it."""

import json
import re
from urllib.parse import urlsplit

from kafka2hive.config.keys.columns import RecordPart
from kafka2hive.config.keys.connections import RegistryOptions
from kafka2hive.config.keys.source import declared_id
from kafka2hive.config.rules.columns import uses_registry_for_keys
from kafka2hive.config.rules.table_options import TableCheck, declared_columns
from kafka2hive.config.yaml.problems import Problems
from kafka2hive.config.yaml.shape import MapSections

_FORM = "expected http(s)://host:port[/path], several addresses of one registry separated by commas"
OTHER_FRAMINGS = ("single_object", "glue", "azure", "apicurio_global", "apicurio_content", "cloudera")
_WITHOUT_REGISTRY = ("single_object", "glue", "azure")
_PRINTABLE = re.compile(r"[!-~]+")


def check_registry(options: RegistryOptions, problems: Problems) -> None:
    """Check the keys of the section `registry`."""
    path = ("registry", "url")
    for url in options.urls:
        if fault := fault_of_url(url):
            near = f"http://{url}" if not fault_of_url(f"http://{url}") and "://" not in url else ""
            problems.add(path, fault, near)
            return
    if len({urlsplit(url).scheme for url in options.urls}) > 1:
        problems.add(
            path, "all addresses must begin with http://, or all with https://: they get the same secrets"
        )
    _check_credentials(options, problems)
    if options.key_file is not None and options.certificate_file is None:
        problems.add(("registry", "key_file"), "is used only with certificate_file")
    for key in ("ca_file", "certificate_file"):
        if getattr(options, key) is not None and urlsplit(options.urls[0]).scheme == "http":
            problems.add(("registry", key), "is used only with https://")


def is_http_address(url: str) -> bool:
    """Return whether it is an HTTP URL of printable characters with a host; it may have user, query and fragment."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:  # the port is not a number, brackets without an IPv6 address, too long a name
        return False
    return is_valid and bool(_PRINTABLE.fullmatch(url))


def fault_of_url(url: str) -> str:
    """Return what is wrong with an address, or an empty string if it is valid."""
    if not is_http_address(url):
        return _FORM
    if "@" in urlsplit(url).netloc:
        return "the URL must not have user or password: write them as registry.username and registry.password"
    if "?" in url or "#" in url:
        return "a registry's URL must not have ? or #"
    return ""


def _check_credentials(options: RegistryOptions, problems: Problems) -> None:
    if options.token is not None and (options.username is not None or options.password is not None):
        problems.add(("registry", "token"), "excludes username and password: keep one of the two")
    elif options.username is not None and options.password is None:
        problems.add(("registry", "username"), "needs registry.password")
    elif options.password is not None and options.username is None:
        problems.add(("registry", "password"), "needs registry.username")
    if options.username is not None and ":" in options.username:
        problems.add(("registry", "username"), "a user name of basic authentication must not have a colon")
    if options.token is not None and not _PRINTABLE.fullmatch(options.token):
        problems.add(("registry", "token"), "a token must be one word of ASCII characters")


def check_schemas(check: TableCheck, has_registry: bool) -> None:
    """Check that an avro or protobuf table has a source of schemas, and the options that concern schemas."""
    table = check.table
    for format, fault_of in (("avro", fault_of_schema), ("protobuf", fault_of_proto)):
        key = f"{format}_schema"
        text = getattr(table, key)
        if table.format != format:
            if text is not None and _contradicts(check, key):
                message = f"only format {format} has this key; the table's format is {table.format}"
                check.add(check.path(key), message)
        elif text is not None:
            if fault := fault_of(text):
                check.add(check.path(key), fault)
        elif not has_registry and not (format == "avro" and table.schemas):
            message = (
                f"format {format} needs a registry section (records that name their schema by id) or {key} "
                f"(plain {format.capitalize()} records)"
            )
            check.add(check.path("format"), message)
    _check_evolution(check, has_registry)
    _check_framing(check)
    _check_declared(check)
    if table.protobuf_message is not None and table.protobuf_schema is None:
        message = (
            "is used only with protobuf_schema: records that name their schema by id also name the message"
        )
        check.add(check.path("protobuf_message"), message)


def _check_evolution(check: TableCheck, has_registry: bool) -> None:
    """Reject options for new fields if the table ignores new fields, or if its records do not name their schemas."""
    table = check.table
    own_schema = {"avro": table.avro_schema, "protobuf": table.protobuf_schema, "json_schema": None}
    names_schemas = table.format in own_schema and own_schema[table.format] is None and not table.schemas
    if table.schema_evolution != "ignore" and names_schemas:
        if table.format == "json_schema" and not has_registry and "schema_evolution" in check.map_keys.given:
            check.add(check.path("schema_evolution"), "needs a registry section with json_schema")
        return
    for key in ("ignored_fields", "subject"):
        if key in check.map_keys.given:
            message = (
                "is used only with schema_evolution add or stop, for avro, protobuf or json_schema records that name"
                " their schema by id"
            )
            check.add(check.path(key), message)


def _check_framing(check: TableCheck) -> None:
    """Reject options for schema ids if neither the values nor the decoded keys of the table's records have any."""
    table = check.table
    formats = {table.format} if getattr(table, f"{table.format}_schema", None) is None else set()
    if any(column.part is RecordPart.KEY for column in declared_columns(table)):
        formats.add(table.key_format)
    if "framing" in check.map_keys.given and not formats & {"avro", "protobuf", "json_schema"}:
        message = (
            "is used only with avro, protobuf or json_schema records or keys that name their schema by id"
        )
        check.add(check.path("framing"), message)
    if "protobuf_indexes" in check.map_keys.given and "protobuf" not in formats:
        message = "is used only with protobuf records or keys that name their schema by id"
        check.add(check.path("protobuf_indexes"), message)


def _check_declared(check: TableCheck) -> None:
    """Check the map's `schemas`, and framings that need them or that only some formats have."""
    table, framing = check.table, check.table.framing
    if table.schemas and (table.format != "avro" or table.avro_schema is not None):
        if _contradicts(check, "schemas"):
            why = (
                "has avro_schema, the one of all records" if table.format == "avro" else f"is {table.format}"
            )
            message = (
                f"is used only with format avro, for records that name their schema by id; the table {why}"
            )
            check.add(check.path("schemas"), message)
        return
    for name, text in table.schemas:
        path = check.path("schemas", name)
        try:
            declared_id(framing, name)
        except ValueError as error:
            check.add(path, f"is no id of framing: {framing}: {error}")
        if fault := fault_of_schema(text):
            check.add(path, fault)
    if framing not in OTHER_FRAMINGS or "framing" not in check.map_keys.given:
        return
    path = check.path("framing")
    formats = ("avro", "json_schema") if framing == "glue" else ("avro",)
    if table.format not in formats:
        check.add(path, f"{framing} is used only with format {' or '.join(formats)}; it is {table.format}")
    elif table.format == "avro" and framing in _WITHOUT_REGISTRY and not table.schemas:
        check.add(path, f"{framing} needs schemas in the map: no registry is asked for such ids")
    if uses_registry_for_keys(check) or (table.key_format == "json_schema" and _has_keys(check)):
        check.add(path, f"{framing} is for values; keys in {table.key_format} are not read with it")


def _has_keys(check: TableCheck) -> bool:
    return any(column.part is RecordPart.KEY for column in declared_columns(check.before_sql().table))


def _contradicts(check: TableCheck, key: str) -> bool:
    """Return whether a schema that the format does not use is a mistake.

    It is none if the table sets only `format` and inherits the schema from `defaults`.
    """
    return key in check.map_keys.given or "format" not in check.map_keys.given


def fault_of_proto(text: str) -> str:
    """Return what is wrong with a Protobuf schema, or an empty string. The schema is searched for a message, not compiled."""
    if "message" not in text:
        return "expected a Protobuf schema as text, or file:/path of one: it declares no message"
    return ""


def fault_of_schema(text: str) -> str:
    """Return what is wrong with the form of an Avro schema, or an empty string. The types of its fields are not checked."""
    try:
        schema = json.loads(text)
    except ValueError as error:
        return f"expected an Avro schema as JSON text, or file:/path of one: {error}"
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return 'expected the schema of a record, {"type": "record", "name": .., "fields": [..]}'
    if not isinstance(schema.get("fields"), list):
        return "the schema of the record has no list of fields"
    return ""


def check_registry_is_used(sections: MapSections, tables: list[TableCheck], problems: Problems) -> None:
    """Check that at least one of the map's `tables` uses the registry section, if there is one."""
    with_schemas = [check for check in tables if check.table.format in ("avro", "protobuf")]
    users = [
        c
        for c in with_schemas
        if getattr(c.table, f"{c.table.format}_schema") is None
        and not (c.table.format == "avro" and c.table.schemas)
    ]
    users += [c for c in tables if c.table.format == "json_schema" and c.table.schema_evolution != "ignore"]
    if sections.has_registry and tables and not users and not any(map(uses_registry_for_keys, tables)):
        message = "no table uses it: "
        if with_schemas:
            format = with_schemas[0].table.format
            article = "an" if format == "avro" else "a"
            message += f"all tables with format {format} have {article} {format}_schema, or schemas"
        else:
            message += "no table has format avro or protobuf"
        problems.add(("registry",), message)

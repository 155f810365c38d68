"""Checks of the map's tables that need no cluster: do their own schemas and their SELECTs fill the columns?

Spark plans each SELECT as in a run. It starts only if a table has SQL, and reads no record. `check_selects_online` also
uses Hive's columns and the present contents of lookups.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Protocol

from kafka2hive.config.keys import RecordPart, ServiceMap, TableRule, TableSettings
from kafka2hive.config.yaml.document import read_document
from kafka2hive.config.yaml.problems import MapInvalid, Path, Problems
from kafka2hive.model.errors import ConfigError, ServiceUnavailable, TableError
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterSchema
from kafka2hive.service.validate.check import Check, Failed, Passed, Result, Warned

if TYPE_CHECKING:
    from kafka2hive.service.hive.schemas import Catalogue
    from kafka2hive.service.tables.table_state import MapTable
    from kafka2hive.sql.selects import Selects


_KEYS = {"sql.lookup": "lookups", "sql.udfs": "udfs"}
_PLANNED = "the SELECT gives the table's columns, with at most one row per record"


class SelectCheck(Protocol):
    """Plans SELECTs without running them (implemented in sql/selects.py). Raises TableError, ServiceUnavailable."""

    def check(self, table: TableSettings) -> None:
        """Check the whole SELECT; a table without SQL passes."""

    def check_text(self, table: TableSettings) -> None:
        """Check what can be checked without the lookups and the columns."""


def check_own_schemas(service_map: ServiceMap) -> None:
    """Raise MapInvalid if a schema is not valid, lacks a column's field, or has a field that cannot fill its column.

    All records of such a table have this schema, so the column would never be filled. Envelopes of change logs are not
    checked.
    """
    schemas = {
        index: schema
        for index, rule in enumerate(service_map.tables)
        if rule.source in ("events", "binlog") and (schema := _own_schema(rule)) is not None
    }
    by_id = [index for index, rule in enumerate(service_map.tables) if rule.format == "avro" and rule.schemas]
    if not (schemas or by_id):
        return
    with _problems_of(service_map) as problems:
        for index, schema in schemas.items():
            _check_schema(service_map.tables[index], schema, ("tables", index), problems)
        for index in by_id:
            _check_schemas_by_id(service_map.tables[index], ("tables", index), problems)


def check_selects(service_map: ServiceMap, selects: SelectCheck) -> list[Check]:
    """Check each table with SQL, without any cluster; warn if only a part of its SELECT can be checked this way.

    Raises MapInvalid with the errors of all tables, ServiceUnavailable (Spark has ended).
    """
    checks: list[Check] = []
    with _problems_of(service_map) as problems:
        for index, rule in enumerate(service_map.tables):
            if rule.sql is None:
                continue
            try:
                checks.append(Check("spark", rule.table, _planned(rule, selects)))
            except TableError as error:
                text = f"{error.message.removeprefix(f'{rule.table}: ')}; {error.remedy}"
                problems.add(("tables", index, _KEYS.get(error.code, "sql")), text)
    return checks


def check_selects_online(
    selects: SelectCheck, catalogue: "Catalogue", tables: "Collection[MapTable]"
) -> list[Check]:
    """Check each table with SQL, with its columns from Hive and the present contents of its lookups."""
    return [
        Check("spark", table.name, _planned_online(table, selects, catalogue))
        for table in tables
        if table.rule.sql is not None
    ]


def selects_of(
    rules: Collection[TableRule], service_map: ServiceMap
) -> "AbstractContextManager[Selects | None]":
    """Start Spark if one of the rules has SQL; otherwise the context's value is None. Raises ServiceUnavailable."""
    if all(rule.sql is None for rule in rules):
        return nullcontext()
    from kafka2hive.sql.selects import local_selects

    return local_selects(service_map)


@contextmanager
def _problems_of(service_map: ServiceMap) -> Iterator[Problems]:
    """Collect problems, which get their lines from the map's file, and raise MapInvalid at the end if there are any."""
    problems = Problems()
    read_document(FilePath(service_map.path).read_text(encoding="utf-8"), problems)
    yield problems
    if all_problems := problems.all():
        raise MapInvalid(service_map.path, all_problems)


def _own_schema(rule: TableRule) -> WriterSchema | None:
    if rule.format == "avro" and rule.avro_schema is not None:
        return WriterSchema(AVRO, rule.avro_schema)
    if rule.format == "protobuf" and rule.protobuf_schema is not None:
        return WriterSchema(PROTOBUF, rule.protobuf_schema, message=rule.protobuf_message)
    return None


def _check_schemas_by_id(rule: TableRule, table: Path, problems: Problems) -> None:
    """Check that all schemas of the map are valid and can be told apart, and that at least one can fill each column."""
    from kafka2hive.decode.schemas.declared import declared_schemas
    from kafka2hive.schema_evolution.map_schemas import declared_schema_faults

    columns = rule.records or rule.columns
    values = [column for column in columns if column.part is RecordPart.VALUE]
    try:
        declared_schemas(rule.framing, rule.schemas)
        faults = [declared_schema_faults(WriterSchema(AVRO, text), values) for _, text in rule.schemas]
    except ValueError as error:
        problems.add((*table, "schemas"), str(error))
        return
    if rule.source in ("events", "binlog"):
        _report_columns(
            rule,
            {name: why for name, why in faults[0].items() if all(name in f for f in faults)},
            table,
            problems,
        )


def _check_schema(rule: TableRule, schema: WriterSchema, table: Path, problems: Problems) -> None:
    from kafka2hive.schema_evolution.map_schemas import (
        declared_schema_faults,  # slow, and most maps have no schema
    )

    columns = rule.records or rule.columns
    values = [column for column in columns if column.part is RecordPart.VALUE]
    try:
        faults = declared_schema_faults(schema, values)
    except ValueError as error:
        problems.add((*table, f"{rule.format}_schema"), str(error))
        return
    _report_columns(rule, faults, table, problems)


def _report_columns(rule: TableRule, faults: Mapping[str, str], table: Path, problems: Problems) -> None:
    """Report the faults of columns, by name, at their lines."""
    key, columns = ("records", rule.records) if rule.records else ("columns", rule.columns)
    for number, column in enumerate(columns):
        if column.name in faults:
            by_name: Path = (*table, key, column.name)
            path = by_name if by_name in problems.places else (*table, key, number)
            problems.add(path, faults[column.name])


def _planned(rule: TableRule, selects: SelectCheck) -> Result:
    settings = rule.settings(rule.columns)
    remote = [name for name, path in rule.lookups if not path.startswith("file:")]
    if rule.columns and not remote:
        selects.check(settings)
        return Passed(_PLANNED)
    selects.check_text(settings)
    missing = f"lookup {remote[0]} is on a cluster" if remote else "its columns are Hive's"
    error = TableError(
        "sql.unchecked",
        f"{rule.table}: the SELECT was only parsed: {missing}",
        "`kafka2hive validate --online -c MAP` checks the whole SELECT",
    )
    return Warned(error)


def _planned_online(table: "MapTable", selects: SelectCheck, catalogue: "Catalogue") -> Result:
    try:
        selects.check(catalogue.resolve(table))
    except (TableError, ServiceUnavailable, ConfigError) as error:
        return Failed(error)
    return Passed(_PLANNED)

"""The check of a map's own schemas (`avro_schema`, `protobuf_schema`) against its tables' columns, without any cluster."""

from pathlib import Path as FilePath

from kafka2hive.config.keys import RecordPart, ServiceMap, TableRule
from kafka2hive.config.yaml.document import read_document
from kafka2hive.config.yaml.problems import MapInvalid, Path, Problems
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterSchema


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
    if not schemas:
        return
    problems = Problems()
    read_document(FilePath(service_map.path).read_text(encoding="utf-8"), problems)
    for index, schema in schemas.items():
        _check(service_map.tables[index], schema, ("tables", index), problems)
    if all_problems := problems.all():
        raise MapInvalid(service_map.path, all_problems)


def _own_schema(rule: TableRule) -> WriterSchema | None:
    if rule.format == "avro" and rule.avro_schema is not None:
        return WriterSchema(AVRO, rule.avro_schema)
    if rule.format == "protobuf" and rule.protobuf_schema is not None:
        return WriterSchema(PROTOBUF, rule.protobuf_schema, message=rule.protobuf_message)
    return None


def _check(rule: TableRule, schema: WriterSchema, table: Path, problems: Problems) -> None:
    from kafka2hive.schema_evolution.map_schemas import faults_of_own  # slow, and most maps have no schema

    key, columns = ("records", rule.records) if rule.records else ("columns", rule.columns)
    values = [column for column in columns if column.part is RecordPart.VALUE]
    try:
        faults = faults_of_own(schema, values)
    except ValueError as error:
        problems.add((*table, f"{rule.format}_schema"), str(error))
        return
    for number, column in enumerate(columns):
        if column.name in faults:
            by_name: Path = (*table, key, column.name)
            path = by_name if by_name in problems.places else (*table, key, number)
            problems.add(path, faults[column.name])

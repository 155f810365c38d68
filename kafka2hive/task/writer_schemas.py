"""The source of the writer schemas of a table's decoder: the map (one schema, or several by id), the registry, or none."""

import os

from kafka2hive.config.keys import RecordPart, RegistryOptions, TableSettings
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.model.errors import TableError
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterSchema
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.storage.port import FileSystem

_lookups: dict[tuple[int, RegistryOptions, str, int, bool], WriterSchemas] = {}


def writers_of(
    table: TableSettings, settings: TaskSettings, files: FileSystem, *, keeps: bool
) -> WriterSchemas | WriterSchema | None:
    """Return the writer schemas of the table's values, None if its decoder needs none.

    If `keeps`, schemas from the registry may be written to the storage. Raises TableError for an invalid schema of the map.
    """
    if table.format == "json_schema" and table.schema_evolution != "ignore" and settings.registry is not None:
        return process_schemas(settings.registry, files, settings.storage.ledger_root, keeps=keeps)
    if table.format not in ("avro", "protobuf"):
        return None
    if table.format == "avro" and table.avro_schema is not None:
        return WriterSchema(AVRO, table.avro_schema)
    if table.format == "protobuf" and table.protobuf_schema is not None:
        return WriterSchema(PROTOBUF, table.protobuf_schema, message=table.protobuf_message)
    if table.format == "avro" and table.schemas:
        from kafka2hive.decode.schemas.declared import declared_schemas

        try:
            return declared_schemas(table.framing, table.schemas)
        except ValueError as error:
            raise TableError("decode.schema", f"{table.table}: {error}") from error
    if settings.registry is None:  # unreachable in a run: the map's checks refuse such a table
        return None
    return process_schemas(settings.registry, files, settings.storage.ledger_root, keeps=keeps)


def key_writers_of(
    table: TableSettings, settings: TaskSettings, files: FileSystem, *, keeps: bool
) -> WriterSchemas | None:
    """Return the writer schemas of the table's keys, which are always in the registry; None without such keys."""
    has_keys = any(column.part is RecordPart.KEY for column in table.columns)
    if table.key_format not in ("avro", "protobuf") or not has_keys or settings.registry is None:
        return None
    return process_schemas(settings.registry, files, settings.storage.ledger_root, keeps=keeps)


def process_schemas(
    registry: RegistryOptions, files: FileSystem, ledger_root: str, *, keeps: bool
) -> WriterSchemas:
    """Return this process's schema lookup, which all its tasks and tables share."""
    from kafka2hive.decode.schemas.writers import same_schema
    from kafka2hive.registry.lookup import schema_lookup

    # the lookup keeps `files` alive, so no other object can get its id
    key = (os.getpid(), registry, ledger_root, id(files), keeps)
    if key not in _lookups:
        _lookups[key] = schema_lookup(registry, files, ledger_root, same_schema, keeps=keeps)
    return _lookups[key]

"""Construction of the registry's client and of the schema lookup from the map's registry section."""

import uuid

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.registry.client import RegistryClient
from kafka2hive.registry.lookup import SchemaLookup
from kafka2hive.registry.port import Registry, SameSchema
from kafka2hive.registry.schema_store import KeptSchemas, identity_of
from kafka2hive.storage.clock import SystemClock
from kafka2hive.storage.port import FileSystem


def connect_registry(options: RegistryOptions) -> Registry:
    """Return the client of the map's registry; it does not connect yet."""
    return RegistryClient(options, SystemClock())


def schema_lookup(
    options: RegistryOptions, files: FileSystem, ledger_root: str, same: SameSchema, *, keeps: bool
) -> SchemaLookup:
    """Return the lookup for one process.

    It reads kept schemas below `ledger_root`; only with `keeps` does it write there.
    """
    kept = KeptSchemas(files, ledger_root, identity_of(options), lambda: uuid.uuid4().hex)
    return SchemaLookup(
        connect_registry(options),
        kept,
        SystemClock(),
        urls=options.url,
        same=same,
        compare_seconds=options.refresh_seconds,
        keeps=keeps,
    )

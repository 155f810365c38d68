"""Are Hive's tables the ones of the map, and what would Hive be sent where one is not? Only looks."""

from collections.abc import Collection

from kafka2hive.hive.port import Hive
from kafka2hive.model.errors import ConfigError, ServiceUnavailable, TableError
from kafka2hive.model.hive.metastore import MetastoreUnavailable
from kafka2hive.model.quantities import counted
from kafka2hive.service.online.checks import Check, Failed, Passed, Result
from kafka2hive.service.shared.hive_schemas import Catalogue, ToSend
from kafka2hive.service.shared.table_state import Table


def check_hive(
    metastore: Hive, catalogue: Catalogue, tables: Collection[Table], dead_letters: str
) -> list[Check]:
    """One line a table, the dead letters' among them; after the first that Hive does not answer, only that one."""
    checks: list[Check] = []
    for name, table in [*((t.name, t) for t in tables), (dead_letters, None)]:
        result = _check(metastore, catalogue, name, table)
        checks.append(Check("hive", name, result))
        if isinstance(result, Failed) and isinstance(result.error, ServiceUnavailable):
            break
    return checks


def _check(metastore: Hive, catalogue: Catalogue, name: str, table: Table | None) -> Result:
    try:
        if table is not None:
            catalogue.resolve(table)
        found = catalogue.compare(metastore.session, name)
        if isinstance(found, ToSend):
            count = counted(len(found.statements), "statement")
            return Passed(
                f"is not the table of the map yet: a run sends {count} (`kafka2hive plan` shows them)"
            )
        return Passed(f"is the table of the map, at {found.location}")
    except MetastoreUnavailable as error:
        return Failed(error.ending(str(error)))
    except (TableError, ServiceUnavailable, ConfigError) as error:
        return Failed(error)

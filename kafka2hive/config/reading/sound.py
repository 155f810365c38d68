"""What of a map is well-formed, so that one mistake does not hide those of other sections."""

from dataclasses import dataclass

from kafka2hive.config.problems import Problems
from kafka2hive.config.reading.shape import FAULTY, Shape
from kafka2hive.config.values.kerberos import KerberosOptions
from kafka2hive.config.values.registry import RegistryOptions
from kafka2hive.config.values.service import DeadLetters, Hive, Map, SparkOptions, StorageOptions
from kafka2hive.config.values.table import Table, TableOptions


@dataclass(frozen=True, slots=True)
class Sound:
    """The sections that are well-formed; None (or not in `tables`) where one is not. `tables` by index in the map.

    `kafka` is as written: its names can be checked whatever its values are. `has_hive`, `has_kerberos`, `has_registry`: there is
    such a section, be it malformed. `whole`: None when anything is malformed.
    """

    service: str | None
    kafka: dict[str, object]
    storage: StorageOptions | None
    has_hive: bool
    hive: Hive | None
    has_kerberos: bool
    kerberos: KerberosOptions | None
    has_registry: bool
    registry: RegistryOptions | None
    spark: SparkOptions | None
    dead_letters: DeadLetters | None
    defaults: TableOptions | None
    tables: dict[int, Table]
    whole: Map | None


def read_map(data: object, problems: Problems) -> Sound | None:
    """The map as declared, with every mistake of its shape in `problems`. None where it is no mapping at all."""
    if not isinstance(data, dict):
        problems.add((), "expected keys with values: service, kafka, storage, tables")
        return None
    shape = Shape(problems)
    fields = shape.fields(Map, data, ())
    is_whole = FAULTY not in fields.values()
    sound = {name: None if value is FAULTY else value for name, value in fields.items()}
    service, kafka = data.get("service"), data.get("kafka")
    return Sound(
        service=service if isinstance(service, str) else None,
        kafka=kafka if isinstance(kafka, dict) else {},
        storage=sound["storage"],
        has_hive=data.get("hive") is not None,
        hive=sound["hive"],
        has_kerberos=data.get("kerberos") is not None,
        kerberos=sound["kerberos"],
        has_registry=data.get("registry") is not None,
        registry=sound["registry"],
        spark=sound["spark"],
        dead_letters=sound["dead_letters"],
        defaults=sound["defaults"],
        tables=shape.tables,
        whole=Map(**fields) if is_whole else None,
    )

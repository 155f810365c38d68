"""The metastore's tables and partitions as descriptions, equal to those that HiveServer2 gives, and back."""

import time
from collections.abc import Sequence
from typing import Any

from kafka2hive.config.keys import Column
from kafka2hive.hive.check import normal_type
from kafka2hive.hive.description import (
    LATEST_PROPERTY,
    LEDGER_PROPERTY,
    PURGE_PROPERTY,
    TableDescription,
    TableKind,
    table_kind,
)
from kafka2hive.hive.direct.client import generated
from kafka2hive.hive.stored_as import declared_serde_properties, stored_as
from kafka2hive.hive.tables import TableSpec

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def table_description(table: Any) -> TableDescription:
    """Return the description of a table or view of the metastore."""
    parameters = dict(table.parameters or {})
    kind = table_kind(table.tableType or "", parameters)
    return _description(
        table.sd,
        table.partitionKeys or (),
        parameters,
        kind=kind,
        created=_creation(table.createTime or 0),
        location=table.sd.location if kind not in (TableKind.VIEW, TableKind.OTHER) else None,
    )


def partition_description(table: Any, partition: Any) -> TableDescription:
    """Return the description of a partition of a table."""
    parameters = dict(partition.parameters or {})
    return _description(
        partition.sd,
        table.partitionKeys or (),
        parameters,
        kind=TableKind.OTHER,
        created=_creation(partition.createTime or 0),
        location=partition.sd.location,
    )


def _description(
    storage: Any,
    keys: Sequence[Any],
    parameters: dict[str, str],
    *,
    kind: TableKind,
    created: str,
    location: str | None,
) -> TableDescription:
    serde = storage.serdeInfo
    skewed = storage.skewedInfo.skewedColNames if storage.skewedInfo else ()
    order = [f"Order(col:{each.col}, order:{each.order})" for each in storage.sortCols or ()]
    return TableDescription(
        columns=_columns(storage.cols),
        partition_columns=_columns(keys),
        location=location,
        kind=kind,
        transactional=parameters.get("transactional", "").lower() == "true",
        input_format=storage.inputFormat or "",
        ledger=parameters.get(LEDGER_PROPERTY),
        serde=serde.serializationLib or "" if serde else "",
        serde_properties=dict(serde.parameters or {}) if serde else {},
        latest=parameters.get(LATEST_PROPERTY),
        deletes_dropped=kind is TableKind.MANAGED or parameters.get(PURGE_PROPERTY, "").lower() == "true",
        created=created,
        output_format=storage.outputFormat or "",
        parameters=parameters,
        clustered=", ".join(storage.bucketCols or ()),
        sorted=", ".join(order),
        skewed=", ".join(skewed or ()),
    )


def _columns(fields: Sequence[Any] | None) -> tuple[Column, ...]:
    return tuple(Column(field.name, field.type) for field in fields or ())


def _creation(seconds: int) -> str:
    """Return a time as HiveServer2 writes it, in UTC; "" if it is unknown."""
    if seconds <= 0:
        return ""
    at = time.gmtime(seconds)
    clock = f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}"
    return f"{_DAYS[at.tm_wday]} {_MONTHS[at.tm_mon - 1]} {at.tm_mday:02} {clock} UTC {at.tm_year}"


def new_table(spec: TableSpec, properties: dict[str, str], owner: str) -> Any:
    """Return the external table that the map wants, as the metastore takes it."""
    ttypes = generated().ttypes
    database, _, name = spec.table.partition(".")
    stored = stored_as(spec.format, spec.storage)
    serde_properties = declared_serde_properties(spec.format, spec.text, spec.storage)
    comment = {"comment": spec.comment} if spec.comment else {}
    return ttypes.Table(
        tableName=name.lower(),
        dbName=database.lower(),
        owner=owner,
        retention=0,
        sd=ttypes.StorageDescriptor(
            cols=fields_of(spec.columns),
            location=spec.location,
            inputFormat=stored.input_class,
            outputFormat=stored.output_class,
            compressed=False,
            numBuckets=-1,
            serdeInfo=ttypes.SerDeInfo(
                serializationLib=stored.serdes[0],
                parameters={"serialization.format": "1", **serde_properties},
            ),
            bucketCols=[],
            sortCols=[],
            parameters={},
            storedAsSubDirectories=False,
        ),
        partitionKeys=fields_of(spec.partition_columns),
        parameters={"EXTERNAL": "TRUE", "bucketing_version": "2", **comment, **properties},
        tableType="EXTERNAL_TABLE",
    )


def fields_of(columns: Sequence[Column]) -> list[Any]:
    """Return columns as the metastore takes them: names and types in lower case, as HiveServer2 stores them."""
    ttypes = generated().ttypes
    return [ttypes.FieldSchema(name=column.name.lower(), type=normal_type(column.type)) for column in columns]

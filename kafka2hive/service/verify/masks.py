"""Search a table's files for values that are no masks although their column has one, and say which columns have several keys."""

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import MetadataColumn, TableSettings
from kafka2hive.config.keys.masks import Mask
from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.files import UNREADABLE
from kafka2hive.model.text import counted
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.service.verify.result import Finding

_BATCH_ROWS = 32_768


def mask_findings(reader: FileReader, path: str, table: TableSettings) -> list[Finding]:
    """Return a finding for each column with a mask of which the file holds other values.

    A file that cannot be read has no findings here. Columns that a SELECT fills are not judged.
    """
    masks = {} if table.sql else {c.name: c.mask for c in table.columns if c.mask is not None}
    names = [name for name in masks if name in reader.schema.names]
    others = dict.fromkeys(names, 0)
    try:
        for batch in reader.batches(names, _BATCH_ROWS) if names else ():
            for name in names:
                others[name] += _values_without(batch.column(name), masks[name])
    except UNREADABLE:
        return []
    return [
        Finding(
            "verify.unmasked",
            path,
            f"{counted(count, 'row')} with a value in column {name} that is no mask ({masks[name].kind})",
        )
        for name, count in others.items()
        if count
    ]


def _values_without(column: pa.Array, mask: Mask) -> int:
    """Return how many values cannot be masks."""
    values = len(column) - column.null_count
    if mask.kind == "drop" or not values:
        return int(values)
    pattern = "^[0-9a-f]{64}$"
    if mask.kind == "partial":
        shown = mask.first + mask.last
        pattern = rf"(?s)^(\*{{0,{shown}}}|.{{{mask.first}}}\*+.{{{mask.last}}})$"
    matches = pc.match_substring_regex(column.cast(pa.string()), pattern)
    return int(values - (pc.sum(matches).as_py() or 0))


def columns_of_several_keys(settings: TaskSettings, table: TableSettings) -> frozenset[str]:
    """Return the columns whose values depend on the key, if the map names several: earlier rows have earlier keys."""
    if len(settings.mask_keys) < 2 or table.sql:
        return frozenset()
    masked = {c.name for c in table.columns if c.mask is not None and c.mask.kind == "hmac"}
    return frozenset(masked | {name for kind, name in table.metadata if kind is MetadataColumn.MASK_KEY})

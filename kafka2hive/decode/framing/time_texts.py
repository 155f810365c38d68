"""Read strings of a schema as times in the forms that the map declares.

The decoder reads such fields as strings, which become times afterwards, a whole column at once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source, labels, names_in_table
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.values.declared_times import has_declared_times
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.plugins import Reason


def columns_of_strings(
    schema: pa.Schema,
    sources: Sequence[Source],
    resolve: Callable[[pa.Schema, Sequence[Source]], object],
) -> list[int]:
    """Return the numbers of the columns with declared times whose values the writer's schema has as strings.

    `resolve` raises SchemaUnresolvable if the writer's schema cannot fill the columns.
    """

    def can_fill(number: int, dtype: pa.DataType) -> bool:
        try:
            resolve(pa.schema([schema.field(number).with_type(dtype)]), [sources[number]])
        except SchemaUnresolvable:
            return False
        return True

    own = [number for number, source in enumerate(sources) if has_declared_times(source.leeway)]
    return [n for n in own if not can_fill(n, schema.field(n).type) and can_fill(n, pa.string())]


class TimeTexts:
    """Converts the columns `numbers` from strings to times, for the messages of one schema.

    A decoder reads rows of the schema `wire`; `finish` converts them to rows of `schema`.
    """

    def __init__(
        self,
        format: str,
        schema: pa.Schema,
        sources: Sequence[Source],
        zone: str,
        numbers: Sequence[int],
        changes: Changes,
        library: Any,
    ) -> None:
        names, texts = names_in_table(schema.names, sources), labels(schema.names, sources)
        self._schema = schema
        self._columns = {
            number: TextColumn(
                column=names[number],
                dtype=schema.field(number).type,
                zone=zone,
                family=format,
                leeway=sources[number].leeway,
                changes=changes,
                label=texts[number],
                library=library,
            )
            for number in numbers
        }
        self.wire = pa.schema(
            [field.with_type(pa.string()) if n in self._columns else field for n, field in enumerate(schema)]
        )

    def finish(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Mapping[int, Reason]]:
        """Return rows of `schema` made of rows of `wire`, and by row number the reasons against some of them."""
        columns = list(rows.columns)
        refusals: dict[int, Reason] = {}
        for number, column in self._columns.items():
            columns[number], bad = column.read(columns[number])
            refusals = {**bad, **refusals}
        return pa.RecordBatch.from_arrays(columns, schema=self._schema), refusals

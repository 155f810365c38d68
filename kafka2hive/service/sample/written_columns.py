"""From the fields of a writer's schema to the columns of a draft. Pure."""

from collections.abc import Iterable, Mapping

from kafka2hive.pipeline.decode.written_fields.fields import WrittenField
from kafka2hive.service.sample.columns import Names
from kafka2hive.service.sample.draft import DraftColumn


class WrittenColumns:
    """A column for each field that Hive has a type for, and `notes` on what has none."""

    def __init__(
        self,
        fields: Iterable[WrittenField],
        units: Mapping[str, str | None] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        """`prefix` leads to the fields, `units` are those of numbers that count from 1970."""
        self.notes: list[str] = []
        names = Names(self.notes)
        columns = []
        for field in fields:
            self.notes += field.notes
            if field.type is not None:
                name, unit = names.name((field.name,)), (units or {}).get(field.name)
                columns.append(DraftColumn(name, field.type, (*prefix, field.name), unit))
        self.columns = tuple(columns)

"""From the fields of a writer's schema to the columns of a draft. Pure."""

from collections.abc import Iterable

from kafka2hive.pipeline.decode.written_fields.fields import WrittenField
from kafka2hive.service.sample.columns import Names
from kafka2hive.service.sample.draft import DraftColumn


class WrittenColumns:
    """A column for each field that Hive has a type for, and `notes` on what has none."""

    def __init__(self, fields: Iterable[WrittenField]) -> None:
        self.notes: list[str] = []
        names = Names(self.notes)
        columns = []
        for field in fields:
            self.notes += field.notes
            if field.type is not None:
                columns.append(DraftColumn(names.name((field.name,)), field.type, (field.name,)))
        self.columns = tuple(columns)

"""How the lines of each file were written: those without compression do not say it, and the map may have changed since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka2hive.config.file_formats import LINE_FORMATS
from kafka2hive.config.keys import TableSettings, TextOptions
from kafka2hive.formats.lines.files import PlainLines
from kafka2hive.hive.tables import written_text
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.task.rows import schema_in_files


@dataclass(frozen=True, slots=True)
class LineForms:
    """The form of the map's files, and of `earlier` files by path, where the ledger says that it was another one."""

    of_map: PlainLines
    earlier: Mapping[str, PlainLines]

    def of(self, path: str) -> PlainLines:
        return self.earlier.get(path, self.of_map)


def line_forms(finals: Sequence[Snapshot], settings: TableSettings) -> LineForms:
    """Return the forms of a table's files, from what each snapshot says of the table that Hive had then."""
    of_map = PlainLines(schema_in_files(settings), settings.writer)
    earlier = {}
    for snapshot in finals:
        for record in snapshot.compared:
            format = next((name for name in LINE_FORMATS if record.format.partition(" ")[0] == name), None)
            if record.table != settings.table or format is None:
                continue
            options = replace(settings.writer, format=format, text=written_text(record) or TextOptions())
            if (format, options.text) != (settings.writer.format, settings.writer.text):
                form = replace(of_map, options=options)
                earlier.update({file.final: form for file in snapshot.files})
    return LineForms(of_map, earlier)

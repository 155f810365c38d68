"""The text of a map with one table, for a person to look through: notes are comments. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka2hive.service.sample.columns import DraftColumn

STORAGE = "file:///var/tmp/kafka2hive-try"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`kafka` are the properties as they were typed. No `columns`: a raw table. `notes` stand above the table."""

    topic: str
    kafka: Mapping[str, str]
    columns: tuple[DraftColumn, ...] = ()
    event_time: DraftColumn | None = None
    interval_seconds: int = 60
    notes: tuple[str, ...] = ()

    def with_notes(self, first: Sequence[str]) -> "Draft":
        """These before the others."""
        return replace(self, notes=(*first, *self.notes))

    def text(self) -> str:
        return "\n".join([*self._service(), *self._table(), ""])

    def _service(self) -> list[str]:
        return [
            f"service: {_word(self.topic, '-')}",
            "kafka:",
            *(f"  {key}: {_quoted(value)}" for key, value in self.kafka.items()),
            f"storage: {{uri: {_quoted(STORAGE)}}}   # later: hdfs://namenode:8020",
            '# hive: {url: "hive://127.0.0.1:10000"}   # creates the table and registers its partitions',
            "",
        ]

    def _table(self) -> list[str]:
        lines = [f"# {_on_one_line(note)}" for note in self.notes]
        lines += [
            "tables:",
            f"  - table: kafka.{_word(self.topic, '_').lower()}",
            f"    topics: [{_quoted(self.topic)}]",
        ]
        lines += ["    start: earliest   # without this line: the end of the topic"]
        if self.columns:
            lines += ["    columns:", *map(_column, self.columns)]
        else:
            lines += ["    format: raw"]
        names = {column.name.lower() for column in self.columns}
        day = next(name for name in ("dt", "day", "part_day", "bucket_day") if name not in names)
        event = f"field: {_key(self.event_time.name)}, " if self.event_time else ""
        lines += [f'    bucket: {{{event}path: "{day}=%Y-%m-%d"}}']
        if self.interval_seconds > 60:
            lines += [f"    flush: {{interval: {self.interval_seconds // 60}m}}"]
        return lines


def _column(column: DraftColumn) -> str:
    kind = _quoted(column.type) if re.search(r"[,<:{]", column.type) else column.type
    more = [] if column.path is None else [f"from: {_quoted(column.path)}"]
    more += [] if column.unit is None else [f"unit: {column.unit}"]
    value = f"{{{', '.join([f'type: {kind}', *more])}}}" if more else kind
    empty = f"   # {column.empty:.0%} null" if column.empty >= 0.005 else ""
    return f"      {_key(column.name)}: {value}{empty}"


def _key(name: str) -> str:
    """Quoted where YAML would read another thing than a name."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) and name.lower() not in _NOT_PLAIN else _quoted(name)


_NOT_PLAIN = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def _quoted(text: str) -> str:
    """As YAML reads it back: JSON's escapes, and YAML's own for what must not stand in its text."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def _on_one_line(note: str) -> str:
    return "".join(c if c.isprintable() else " " for c in note)


def _word(text: str, instead: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", instead, text).strip(instead)[:64] or "topic"

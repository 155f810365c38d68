"""The text of a map with one table, for a person to look through: notes are comments. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kafka2hive.config.grammars.json_path import path_text

STORAGE = "file:///var/tmp/kafka2hive-try"


@dataclass(frozen=True, slots=True)
class DraftColumn:
    """`keys` lead to its value. `unit`: of a number that counts from 1970. `empty`: share of records without a value."""

    name: str
    type: str
    keys: tuple[str, ...]
    unit: str | None = None
    empty: float = 0.0

    @property
    def path(self) -> str | None:
        """None where the value stands under the column's name."""
        return None if self.keys == (self.name,) else path_text(self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`kafka` are the properties as they were typed. `event`: the bucket's keys for the event time. `notes` stand on top.

    `delimiter`: of format csv. `rows`: how they stand in a record. `decimals`: of Debezium's envelopes.
    """

    topic: str
    kafka: Mapping[str, str]
    registry: str | None = None
    format: str = "raw"
    source: str = "events"
    columns: tuple[DraftColumn, ...] = ()
    event: str = ""
    interval_seconds: int = 60
    notes: tuple[str, ...] = ()
    delimiter: str = ","
    rows: str = "one"
    decimals: str = "text"

    def text(self) -> str:
        return "\n".join([*self._service(), *self._table(), ""])

    def _service(self) -> list[str]:
        return [
            f"service: {_word(self.topic, '-')}",
            "kafka:",
            *(f"  {key}: {_quoted(value)}" for key, value in self.kafka.items()),
            f"storage: {{uri: {_quoted(STORAGE)}}}   # later: hdfs://namenode:8020",
            *([f"registry: {{url: {_quoted(self.registry)}}}"] if self.registry else []),
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
        lines += [f"    format: {self.format}"] if self.format != "json" else []
        if self.format == "csv" and self.delimiter != ",":
            lines += [f"    csv: {{delimiter: {_quoted(self.delimiter)}}}"]
        lines += [f"    rows: {self.rows}"] if self.rows != "one" else []
        if self.decimals == "base64":
            lines += [f"    source: {{{self.source}: {{decimals: base64}}}}"]
        elif self.source != "events":
            lines += [f"    source: {self.source}"]
        lines += ["    columns:", *map(_column, self.columns)] if self.columns else []
        names = {column.name.lower() for column in self.columns}
        day = next(name for name in ("dt", "day", "part_day", "bucket_day") if name not in names)
        event = f"{self.event}, " if self.event else ""
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
    return f"      {key_text(column.name)}: {value}{empty}"


def key_text(name: str) -> str:
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

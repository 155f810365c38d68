"""The text of a map with one table, for a person to look through: notes are comments. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka2hive.config.keys.json_path import path_text

STORAGE = "file:///var/tmp/kafka2hive-try"


@dataclass(frozen=True, slots=True)
class DraftColumn:
    """`keys` lead to its value. `unit`: of a number that counts from 1970; `counts`: the one it has if it does, by its size.
    `empty`: share of records without a value.
    """

    name: str
    type: str
    keys: tuple[str, ...]
    unit: str | None = None
    counts: str | None = None
    empty: float = 0.0

    @property
    def path(self) -> str | None:
        """None where the value stands under the column's name."""
        return None if self.keys == (self.name,) else path_text(self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`kafka` are the properties as they were typed. `event`: the bucket's keys for the event time. `notes` stand on top.

    `delimiter`, `header` and `booleans`: of format csv. `rows`: how they stand in a record. `decimals`: of Debezium's envelopes.
    `storage` and `hive` are URIs, `table` is a name with {topic}. `path`, `location` and `file_format` are those of a table
    that Hive has.
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
    header: tuple[str, ...] = ()
    booleans: str = "words"
    framing: str = "id4"
    storage: str | None = None
    hive: str | None = None
    table: str = "kafka.{topic}"
    metadata: tuple[str, ...] = ()
    path: str | None = None
    location: str | None = None
    file_format: str = "parquet"

    @property
    def is_empty(self) -> bool:
        """Nothing is known of the topic's records."""
        return self.format == "raw" and not self.columns and len(self.notes) == 1

    @property
    def table_name(self) -> str:
        """Of the draft's table."""
        return self.table.replace("{topic}", _word(self.topic, "_").lower())

    def text(self) -> str:
        """A map of this table alone."""
        service = _service(_word(self.topic, "-"), self)
        return "\n".join([*service, *_comments(self.notes, ""), "tables:", *self._table(), ""])

    def _table(self) -> list[str]:
        lines = [f"  - table: {_plain_or_quoted(self.table_name)}", f"    topics: [{_quoted(self.topic)}]"]
        lines += [f"    location: {_quoted(self.location)}"] if self.location else []
        lines += ["    start: earliest   # without this line: the end of the topic"]
        lines += [f"    format: {self.format}"] if self.format != "json" else []
        lines += [f"    framing: {self.framing}"] if self.framing != "id4" else []
        lines += self._csv()
        lines += [f"    rows: {self.rows}"] if self.rows != "one" else []
        if self.decimals == "base64":
            lines += [f"    source: {{{self.source}: {{decimals: base64}}}}"]
        elif self.source != "events":
            lines += [f"    source: {self.source}"]
        lines += ["    columns:", *map(_column, self.columns)] if self.columns else []
        lines += [f"    metadata: [{', '.join(self.metadata)}]"] if self.metadata else []
        names = {column.name.lower() for column in self.columns}
        day = next(name for name in ("dt", "day", "part_day", "bucket_day") if name not in names)
        path = f"{day}=%Y-%m-%d" if self.path is None else self.path
        event = f"{self.event}, " if self.event and path else ""
        lines += [f"    bucket: {{{event}path: {_quoted(path)}}}"]
        lines += [f"    writer: {{format: {self.file_format}}}"] if self.file_format != "parquet" else []
        if self.interval_seconds > 60:
            lines += [f"    flush: {{interval: {self.interval_seconds // 60}m}}"]
        return lines

    def _csv(self) -> list[str]:
        options = [f"delimiter: {_quoted(self.delimiter)}"] if self.delimiter != "," else []
        options += [f"header: [{', '.join(map(_quoted, self.header))}]"] if self.header else []
        options += [f"booleans: {self.booleans}"] if self.booleans != "words" else []
        return [f"    csv: {{{', '.join(options)}}}"] if self.format == "csv" and options else []


def map_of(drafts: Sequence[Draft], notes: Sequence[str]) -> str:
    """The text of a map with a table for each topic. `notes` are those of all of them."""
    names = [draft.table_name.lower() for draft in drafts]
    registry, storage = (
        next((value for draft in drafts if (value := getattr(draft, key))), None)
        for key in ("registry", "storage")
    )
    whole = replace(drafts[0], registry=registry, storage=storage)
    lines = [*_service("drafted", whole), *_comments(notes, ""), "tables:"]
    taken: set[str] = set()
    for draft, name in zip(drafts, names, strict=True):
        number = 1
        while name in taken:
            number += 1
            name = f"{draft.table_name.lower()}_{number}"
        taken.add(name)
        lines += [*_comments(draft.notes, "  "), *replace(draft, table=name)._table(), ""]
    return "\n".join(lines)


def _service(name: str, draft: Draft) -> list[str]:
    hive = '# hive: {url: "hive://127.0.0.1:10000"}   # creates the table and registers its partitions'
    later = "" if draft.storage else "   # later: hdfs://namenode:8020"
    return [
        f"service: {name}",
        "kafka:",
        *(f"  {key}: {_quoted(value)}" for key, value in draft.kafka.items()),
        f"storage: {{uri: {_quoted(draft.storage or STORAGE)}}}{later}",
        *([f"registry: {{url: {_quoted(draft.registry)}}}"] if draft.registry else []),
        f"hive: {{url: {_quoted(draft.hive)}}}" if draft.hive else hive,
        "",
    ]


def _comments(notes: Sequence[str], indent: str) -> list[str]:
    return [f"{indent}# {_on_one_line(note)}" for note in notes]


def _plain_or_quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*\.[A-Za-z_]\w*", name) else _quoted(name)


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

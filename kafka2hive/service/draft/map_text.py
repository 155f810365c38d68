"""The text of a drafted map, with notes as comments for the person who reads it. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.config.keys.source import CsvOptions

STORAGE = "file:///var/tmp/kafka2hive-try"
PLAIN_CSV = CsvOptions()
"""As in RFC 4180."""
_NOT_PLAIN = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


@dataclass(frozen=True, slots=True)
class DraftColumn:
    """A column whose value is at the path `keys`; `empty` is the share of records without a value.

    `unit` is the unit of a number that is a time, counted from 1970. `counts` is the unit that the number's size suggests, even
    if nothing else says that it is a time. `decimals` says how a decimal's value is written if it is not a number or its text.
    `leeway`, `rules`: keys with their values, such as `json: text` and `min: 0`. `is_around`: the path begins at the message,
    around its rows.
    """

    name: str
    type: str
    keys: tuple[str, ...]
    unit: str | None = None
    counts: str | None = None
    decimals: str | None = None
    leeway: tuple[str, ...] = ()
    empty: float = 0.0
    rules: tuple[str, ...] = ()
    is_around: bool = False

    @property
    def path(self) -> str | None:
        """The path as the map writes it; None if it is the column's name."""
        return None if self.keys == (self.name,) and not self.is_around else path_text(self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a map with one table says.

    `kafka` has the properties as they were typed; `storage`, `hive` and `registry` are URIs. `table` may contain {topic}.
    `event` is the part of the table's `bucket` that names the event time. `decimals` and `options` belong to Debezium. `path`,
    `location` and `file_format` come from a table in Hive.
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
    csv: CsvOptions = PLAIN_CSV
    rows: str = "one"
    decimals: str = "text"
    options: tuple[str, ...] = ()
    framing: str = "id4"
    compression: str = "none"
    encoding: str = "utf-8"
    storage: str | None = None
    hive: str | None = None
    table: str = "kafka.{topic}"
    metadata: tuple[str, ...] = ()
    path: str | None = None
    location: str | None = None
    file_format: str = "parquet"
    proposes_rules: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether the topic had no record to draft from."""
        return self.format == "raw" and not self.columns and len(self.notes) == 1

    @property
    def table_name(self) -> str:
        return self.table.replace("{topic}", _word(self.topic, "_").lower())

    def text(self) -> str:
        """Return the text of a map with this table only."""
        service = _service(_word(self.topic, "-"), self)
        return "\n".join([*service, *_comments(self.notes, ""), "tables:", *self._table(), ""])

    def _table(self) -> list[str]:
        lines = [f"  - table: {_plain_or_quoted(self.table_name)}", f"    topics: [{_quoted(self.topic)}]"]
        lines += [f"    location: {_quoted(self.location)}"] if self.location else []
        lines += ["    start: earliest   # without this line: the end of the topic"]
        lines += [f"    format: {self.format}"] if self.format != "json" else []
        lines += [f"    framing: {self.framing}"] if self.framing != "id4" else []
        lines += [f"    compression: {self.compression}"] if self.compression != "none" else []
        lines += [f"    encoding: {self.encoding}"] if self.encoding != "utf-8" else []
        lines += self._csv()
        lines += [f"    rows: {self.rows}"] if self.rows != "one" else []
        options = [*self.options, *(["decimals: base64"] if self.decimals == "base64" else [])]
        if options:
            lines += [f"    source: {{{self.source}: {{{', '.join(options)}}}}}"]
        elif self.source != "events":
            lines += [f"    source: {self.source}"]
        lines += ["    on_break: count"] if any(column.rules for column in self.columns) else []
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
        csv = self.csv
        options = [f"delimiter: {_quoted(csv.delimiter)}"] if csv.delimiter != "," else []
        options += [f"escape: {_quoted(csv.escape)}"] if csv.escape else []
        options += [f"nulls: [{', '.join(map(_quoted, csv.nulls))}]"] if csv.nulls else []
        options += [f"header: [{', '.join(map(_quoted, csv.header))}]"] if csv.header else []
        options += [f"booleans: {csv.booleans}"] if csv.booleans != "words" else []
        return [f"    csv: {{{', '.join(options)}}}"] if self.format == "csv" and options else []


def map_of(drafts: Sequence[Draft], notes: Sequence[str]) -> str:
    """Return the text of a map with a table for each draft; `notes` concern all of them."""
    names = [draft.table_name.lower() for draft in drafts]
    registry, storage = (
        next((value for draft in drafts if (value := getattr(draft, key))), None)
        for key in ("registry", "storage")
    )
    whole = replace(drafts[0], registry=registry, storage=storage)
    lines = [*_service("drafted", whole), *_comments(notes, ""), "tables:"]
    unique: set[str] = set()
    for draft, name in zip(drafts, names, strict=True):
        number = 1
        while name in unique:
            number += 1
            name = f"{draft.table_name.lower()}_{number}"
        unique.add(name)
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
    more = (
        []
        if column.path is None
        else [f"{'message' if column.is_around else 'from'}: {_quoted(column.path)}"]
    )
    more += [] if column.unit is None else [f"unit: {column.unit}"]
    more += [] if column.decimals is None else [f"decimals: {column.decimals}"]
    more += [*column.leeway, *column.rules]
    value = f"{{{', '.join([f'type: {kind}', *more])}}}" if more else kind
    empty = f"   # {column.empty:.0%} null" if column.empty >= 0.005 else ""
    return f"      {key_text(column.name)}: {value}{empty}"


def key_text(name: str) -> str:
    """Return the name as a YAML key, in quotes if YAML would not read it as a string."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) and name.lower() not in _NOT_PLAIN else _quoted(name)


def _quoted(text: str) -> str:
    """Quote `text` with JSON's escapes, and YAML's escapes for characters that YAML does not allow."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def _on_one_line(note: str) -> str:
    return "".join(c if c.isprintable() else " " for c in note)


def _word(text: str, instead: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", instead, text).strip(instead)[:64] or "topic"

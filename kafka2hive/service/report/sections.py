"""The sections of one table in the page of `report`: charts with their numbers in tables, whose captions say what they cover."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar
from xml.etree.ElementTree import Element

from kafka2hive.model.snapshot import OpenPartition
from kafka2hive.model.text import counted, size, unix_seconds
from kafka2hive.service.inspect.attention import Attention
from kafka2hive.service.inspect.legend import MEANINGS, words_of
from kafka2hive.service.inspect.status import TableStatus
from kafka2hive.service.process import shown_process
from kafka2hive.service.report.markup import NUMBER, WIDE, Cell, Markup, PageColumn, bytes_of, seconds
from kafka2hive.service.report.report import (
    Coverage,
    DatedCertificate,
    EpochPoint,
    PartitionFiles,
    TableHistory,
)
from kafka2hive.service.tables.run_epoch import RunEpoch

if TYPE_CHECKING:
    from kafka2hive.service.inspect.dead_letters import LetterGroup

MOST_ROWS = 60
"""Maximum number of rows in each table of Hive partitions, topic partitions and certificates."""

T = TypeVar("T")


def badge(h: Markup, attention: Attention) -> Element:
    """Return a table's state in a few words; its shape and colour say how urgent it is."""
    return h("span", attention.headline, class_=f"state {attention.urgency.name.lower()}")


def sections(
    h: Markup, anchor: str, table: TableHistory, status: TableStatus, attention: Attention
) -> Element:
    """Return all that is known about one table."""
    section = h("section", h("h2", table.name), h("p", badge(h, attention)), id=anchor, aria_label=table.name)
    if attention.detail:
        section.append(h("p", attention.detail))
    if attention.remedy:
        section.append(h("p", "What to do: ", *h.prose(attention.remedy), class_="todo"))
    section.extend(h("p", f"Not everything could be read: {text}", class_="alert") for text in table.failures)
    section.append(_facts(h, status))
    for part in (_epochs, _coverage, _partitions, _letters, _certificates):
        section.extend(part(h, table))
    section.extend(_open_partitions(h, status))
    section.extend(_drift(h, table))
    return section


_RUN: tuple[PageColumn[RunEpoch], ...] = (
    PageColumn("epoch", "epoch of the run", lambda one: one.number, NUMBER),
    PageColumn("written", "published", lambda one: one.published_at),
    PageColumn("tasks", "tasks", lambda one: seconds(one.tasks_seconds), NUMBER),
    PageColumn("publish", "publish", lambda one: seconds(one.publish_seconds), NUMBER),
    PageColumn("tables", "tables", lambda one: one.tables, NUMBER),
    PageColumn("records", "records", lambda one: one.records, NUMBER),
    PageColumn("lag", "left in Kafka", lambda one: one.lag_records, NUMBER),
    PageColumn("fresh", "records waited", lambda one: seconds(one.fresh_seconds), NUMBER),
    PageColumn("aside", "set aside", lambda one: one.set_aside, NUMBER),
)


def run_section(h: Markup, epochs: Sequence[RunEpoch]) -> Iterator[Element]:
    """Yield what a live run knows of its last epochs; nothing if no run made this page."""
    if not epochs:
        return
    caption = (
        f"The last {counted(len(epochs), 'epoch')} of this run: how long their phases took,"
        " and how many records of all tables were left in Kafka."
    )
    chart = h.figure("run", caption, h.table(caption, _RUN, epochs))
    yield h("section", h("h2", "This run"), chart, aria_label="this run")


def _facts(h: Markup, status: TableStatus) -> Element:
    state, generation = status.view.state, status.view.generation
    facts = {
        "position": f"epoch {state.epoch}, written at {state.written_at}",
        "owner": f"{shown_process(generation.owner) if generation.owner else 'nobody yet'}"
        f" ({status.owner_life.value}), generation {generation.number}",
        "location": state.location,
    }
    if status.view.newest.pending:
        facts["pending"] = (
            f"epoch {state.epoch} is committed but not finalised: a start or `recover` rolls it forward"
        )
    if status.not_in_hive:
        facts["not in Hive"] = ", ".join(
            f"{one.table} {one.path}".strip() for one in status.not_in_hive[:10]
        ) + (f" and {len(status.not_in_hive) - 10} more" if len(status.not_in_hive) > 10 else "")
    if state.withheld:
        facts["not in Hive before their certificate"] = ", ".join(one.path for one in state.withheld[:10]) + (
            f" and {len(state.withheld) - 10} more" if len(state.withheld) > 10 else ""
        )
    if state.early:
        files = counted(sum(each.files for each in state.early), "file")
        facts["early"] = f"{counted(len(state.early), 'partition')} with {files}"
    for word in sorted(words_of(status)):
        facts[f"what {word} means"] = MEANINGS[word]
    if state.given_up:
        facts["accepted as lost"] = counted(len(state.given_up), "file")
    if len(state.losses) > len(state.given_up):
        facts["fetched again"] = counted(len(state.losses) - len(state.given_up), "lost file")
    if state.forgotten:
        facts["given up in Hive"] = ", ".join(one.partition.path for one in state.forgotten[:10])
    if state.tracking is not None:
        facts["read through"] = state.tracking.through
    if (retention := status.retention) is not None and retention.expired_before:
        dropped = counted(len(retention.dropped), "dropped partition")
        facts["expired"] = (
            f"periods that ended by {retention.expired_before}; files of {dropped} are not deleted yet"
        )
    for number, warning in enumerate(status.warnings):
        facts[f"warning {number + 1}"] = warning
    return h(
        "dl",
        *(
            h(tag, *h.prose(text))
            for pair in facts.items()
            for tag, text in zip(("dt", "dd"), pair, strict=True)
        ),
    )


Step = tuple[EpochPoint, float | None]
"""An epoch, and the seconds since the one before it was written; None if unknown."""

_EPOCHS: tuple[PageColumn[Step], ...] = (
    PageColumn("epoch", "epoch", lambda step: step[0].epoch, NUMBER),
    PageColumn("written", "written", lambda step: step[0].written_at),
    PageColumn("since", "after the one before", lambda step: seconds(step[1]), NUMBER),
    PageColumn("records", "records", lambda step: step[0].account.read, NUMBER),
    PageColumn("bytes", "bytes", lambda step: bytes_of(step[0].account.bytes), NUMBER),
    PageColumn("files", "files", lambda step: step[0].files, NUMBER),
    PageColumn("dead", "dead letters", lambda step: step[0].account.dead_lettered, NUMBER),
    PageColumn("age", "newest record's age", lambda step: seconds(step[0].age_seconds), NUMBER),
    PageColumn("event", "event", lambda step: f"taken over by {by}" if (by := step[0].taken_over_by) else ""),
)


def _epochs(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield the epochs over time: how much they read, and how old the newest record was when they were written."""
    yield h("h3", "Epochs over time")
    if not table.epochs:
        yield h("p", "No epoch is finalised yet.", class_="soft")
        return
    count = counted(len(table.epochs), "epoch")
    caption = (
        f"Records, files and freshness of {'the newest' if table.older_epochs else 'all'} {count};"
        " age: the epoch's time minus the newest record's timestamp."
    )
    steps = zip(table.epochs, _seconds_between(table.epochs), strict=True)
    yield h.figure("epochs", caption, h.table(caption, _EPOCHS, steps))


def _seconds_between(epochs: Sequence[EpochPoint]) -> Iterator[float | None]:
    """Yield for each epoch the seconds since the one before."""
    yield None
    for before, after in pairwise(unix_seconds(one.written_at) for one in epochs):
        yield None if before is None or after is None else after - before


def _gaps(one: Coverage) -> Cell:
    text = ", ".join(f"[{gap.start:,}, {gap.end:,})" for gap in one.gaps)
    return " ".join(f"{gap.start}-{gap.end}" for gap in one.gaps), text or "-"


def _proof(one: Coverage) -> str:
    """Compare the lengths of the ranges with the sum of what became of their offsets."""
    if not one.ranges:
        return "nothing read in these epochs"
    offsets = sum(map(len, one.ranges))
    accounted = one.account.read + one.account.absent
    return f"yes: {offsets:,}" if offsets == accounted else f"{accounted:,} of {offsets:,}"


_COVERAGE: tuple[PageColumn[Coverage], ...] = (
    PageColumn("place", "topic partition", lambda one: str(one.place.topic_partition)),
    PageColumn("start", "log start", lambda one: one.place.earliest, NUMBER),
    PageColumn("first", "read from", lambda one: one.ranges[0].start if one.ranges else None, NUMBER),
    PageColumn("position", "position", lambda one: one.place.offset, NUMBER),
    PageColumn("end", "log end", lambda one: one.place.latest, NUMBER),
    PageColumn("waiting", "waiting", lambda one: one.place.waiting, NUMBER),
    PageColumn("written", "written", lambda one: one.account.written, NUMBER),
    PageColumn("filtered", "filtered", lambda one: one.account.filtered, NUMBER),
    PageColumn("tombstones", "tombstones", lambda one: one.account.tombstones, NUMBER),
    PageColumn("dead", "dead letters", lambda one: one.account.dead_lettered, NUMBER),
    PageColumn("absent", "absent", lambda one: one.account.absent, NUMBER),
    PageColumn("proof", "every offset accounted for", _proof),
    PageColumn("gaps", "accepted as lost", _gaps),
)


def _coverage(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield what became of each topic partition's offsets, those with the most waiting records first."""
    yield h("h3", "Offsets of each topic partition")
    if not table.coverage:
        yield h("p", "It has read nothing yet.", class_="soft")
        return
    order = sorted(table.coverage, key=lambda one: (-(one.place.waiting or 0), one.place.topic_partition))
    shown, note = _first(order, "topic partition")
    caption = f"The offsets that these epochs read, and what became of them{note}."
    yield h.figure("coverage", caption, h.table(caption, _COVERAGE, shown))


_PARTITIONS: tuple[PageColumn[PartitionFiles], ...] = (
    PageColumn("partition", "Hive partition", lambda one: one.path or "(not partitioned)"),
    PageColumn("files", "files", lambda one: one.files, NUMBER),
    PageColumn("early", "of them early", lambda one: one.early, NUMBER),
    PageColumn("compacted", "compacted", lambda one: one.compacted, NUMBER),
    PageColumn("rows", "rows", lambda one: one.rows, NUMBER),
    PageColumn("bytes", "size", lambda one: bytes_of(one.bytes), NUMBER),
    PageColumn("mean", "mean file", lambda one: size(one.bytes / one.files)),
    PageColumn("smallest", "smallest", lambda one: bytes_of(one.smallest), NUMBER),
    PageColumn("largest", "largest", lambda one: bytes_of(one.largest), NUMBER),
)


def _partitions(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield the files of the Hive partitions, in descending order of the partitions' names."""
    yield h("h3", "Files of each Hive partition")
    if not table.partitions:
        yield h("p", "These epochs have no data files.", class_="soft")
        return
    shown, note = _first(table.partitions[::-1], "Hive partition")
    caption = f"Data files that these epochs wrote, and their mean size{note}; older files are not counted."
    compacts = any(one.early or one.compacted for one in table.partitions)
    if compacts:
        caption += (
            " Early files that compaction has rewritten are left out: the compacted ones have their rows."
        )
    columns = [one for one in _PARTITIONS if compacts or one.key not in ("early", "compacted")]
    yield h.figure("partitions", caption, h.table(caption, columns, shown))


_LETTERS: "tuple[PageColumn[LetterGroup], ...]" = (
    PageColumn("reason", "reason", lambda one: one.reason),
    PageColumn("topic", "topic", lambda one: one.topic),
    PageColumn("count", "dead letters", lambda one: one.count, NUMBER),
    PageColumn("place", "one of them", lambda one: str(one.place)),
    PageColumn("detail", "its text", lambda one: one.detail, WIDE),
)


def _letters(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield the dead letters by reason, from the dead-letter files themselves."""
    letters = table.letters
    if letters is None:
        return
    yield h("h3", "Dead letters by reason")
    caption = f"{counted(letters.letters, 'dead letter')} in {counted(letters.files, 'file')} of these epochs"
    if table.letter_files_left:
        caption += f"; {counted(table.letter_files_left, 'older file')} were not read"
    if letters.more_groups:
        caption += f"; {counted(letters.more_groups, 'rarer reason')} are not shown"
    yield h.figure("letters", caption + ".", h.table(caption + ".", _LETTERS, letters.groups))
    for path, why in letters.not_read[:5]:
        yield h("p", f"Not read: {path} {why}", class_="alert")
    yield h(
        "p",
        *h.prose(
            f"`kafka2hive dead-letters show --table {table.name} -c MAP` shows the records;"
            f" once the map is mended, `kafka2hive dead-letters replay --table {table.name} -c MAP` decodes them again."
        ),
        class_="todo",
    )


_CERTIFICATES: tuple[PageColumn[DatedCertificate], ...] = (
    PageColumn("partition", "Hive partition", lambda one: one.certificate.partition.path),
    PageColumn("written", "certified", lambda one: one.written_at),
    PageColumn("through", "Kafka read through", lambda one: one.certificate.through),
    PageColumn("rows", "rows", lambda one: one.certificate.rows, NUMBER),
    PageColumn("files", "files", lambda one: one.certificate.files, NUMBER),
    PageColumn("policy", "policy", lambda one: one.certificate.policy),
)


def _certificates(h: Markup, table: TableHistory) -> Iterator[Element]:
    if not table.certificates:
        return
    yield h("h3", "Complete Hive partitions")
    shown, note = _first(table.certificates[::-1], "certificate")
    yield h.table(f"Certificates that these epochs gave, newest first{note}.", _CERTIFICATES, shown)


_OPEN: tuple[PageColumn[OpenPartition], ...] = (
    PageColumn("partition", "Hive partition", lambda one: one.partition.path),
    PageColumn("opened", "first file since", lambda one: one.opened_at),
    PageColumn("rows", "rows", lambda one: one.rows, NUMBER),
    PageColumn("files", "files", lambda one: one.files, NUMBER),
)


def _open_partitions(h: Markup, status: TableStatus) -> Iterator[Element]:
    state = status.view.state
    if state.tracking is None:
        return
    yield h("h3", "Hive partitions that are not complete")
    if not state.open:
        yield h("p", "All are complete.", class_="soft")
        return
    shown, note = _first(sorted(state.open, key=lambda one: one.opened_at), "Hive partition")
    yield h.table(f"Files that no certificate counts, oldest first{note}.", _OPEN, shown)


def _drift(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield how Hive's table differs from the map."""
    if table.plan is None:
        return
    yield h("h3", "Hive's table and the map")
    if table.plan.error is not None:
        error = table.plan.error
        yield h("p", *h.prose(f"They differ: [{error.code}] {error.message} {error.remedy}"), class_="alert")
    elif table.plan.statements:
        yield h("p", "The next run, or the next epoch with new fields, would send to Hive:")
        yield h("ul", *(h("li", h("code", text)) for text in table.plan.statements))
    else:
        yield h("p", "They are the same.", class_="soft")


def _first(rows: Sequence[T], noun: str) -> tuple[Sequence[T], str]:
    """Return the first rows and, if there are more, a sentence that says so."""
    note = f" (the first {MOST_ROWS} of {counted(len(rows), noun)})" if len(rows) > MOST_ROWS else ""
    return rows[:MOST_ROWS], note

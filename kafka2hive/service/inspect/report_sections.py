"""The sections of one table in the page of `report`: each is a chart with the table of its numbers, and says its bounds."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar
from xml.etree.ElementTree import Element

from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.text import counted, duration, size
from kafka2hive.service.inspect.attention import Attention, unix_time
from kafka2hive.service.inspect.markup import Cell, Markup, PageColumn
from kafka2hive.service.inspect.report import Coverage, EpochPoint, RunEpoch, TableHistory
from kafka2hive.service.inspect.status import TableStatus
from kafka2hive.service.process import shown_process

MOST_ROWS = 60
"""Rows of each table of Hive partitions, topic partitions and certificates."""

T = TypeVar("T")


def badge(h: Markup, one: Attention) -> Element:
    """Return a table's state in a few words; its shape and colour say how urgent it is."""
    return h("span", one.headline, class_=f"state {one.urgency.name.lower()}")


def sections(h: Markup, anchor: str, table: TableHistory, status: TableStatus, one: Attention) -> Element:
    """Return all that is known about one table."""
    section = h("section", h("h2", table.name), h("p", badge(h, one)), id=anchor, aria_label=table.name)
    if one.detail:
        section.append(h("p", one.detail))
    if one.remedy:
        section.append(h("p", "What to do: ", *h.prose(one.remedy), class_="todo"))
    section.extend(h("p", f"Not everything could be read: {text}", class_="alert") for text in table.failures)
    section.append(_facts(h, status))
    for part in (_epochs, _coverage, _partitions, _letters, _certificates):
        section.extend(part(h, table))
    section.extend(_open_partitions(h, status))
    section.extend(_drift(h, table))
    return section


def run_section(h: Markup, epochs: Sequence[RunEpoch]) -> Iterator[Element]:
    """Yield what a live run knows of its last epochs; nothing if no run made this page."""
    if not epochs:
        return
    columns = (
        PageColumn("epoch", "epoch of the run", is_number=True),
        PageColumn("written", "published"),
        PageColumn("tasks", "tasks", is_number=True),
        PageColumn("publish", "publish", is_number=True),
        PageColumn("tables", "tables", is_number=True),
        PageColumn("records", "records", is_number=True),
        PageColumn("lag", "left in Kafka", is_number=True),
        PageColumn("fresh", "records waited", is_number=True),
        PageColumn("aside", "set aside", is_number=True),
    )
    rows: list[list[Cell]] = [
        [
            one.number,
            one.published_at,
            (one.tasks_seconds, duration(one.tasks_seconds)),
            (one.publish_seconds, duration(one.publish_seconds)),
            one.tables,
            one.records,
            one.lag_records,
            None if one.fresh_seconds is None else (one.fresh_seconds, duration(one.fresh_seconds)),
            one.set_aside,
        ]
        for one in epochs
    ]
    caption = (
        f"The last {counted(len(epochs), 'epoch')} of this run: how long their phases took,"
        " and how many records of all tables were left in Kafka."
    )
    heading = h("h2", "This run")
    yield h(
        "section", heading, h.figure("run", caption, h.table(caption, columns, rows)), aria_label="this run"
    )


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
            f"epoch {state.epoch} is committed and not finalised: a start or `recover` rolls it forward"
        )
    if state.unregistered:
        facts["not registered in Hive"] = ", ".join(
            f"{one.table} {one.path}".strip() for one in state.unregistered[:10]
        ) + (f" and {len(state.unregistered) - 10} more" if len(state.unregistered) > 10 else "")
    if state.losses:
        facts["accepted as lost"] = counted(len(state.losses), "file")
    if state.forgotten:
        facts["given up in Hive"] = ", ".join(one.partition.path for one in state.forgotten[:10])
    if state.tracking is not None:
        facts["read through"] = state.tracking.through
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


def _epochs(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield the epochs over time: how much they read, and how old the newest record was when they were written."""
    yield h("h3", "Epochs over time")
    if not table.epochs:
        yield h("p", "No epoch is finalised yet.", class_="soft")
        return
    which = (
        f"the newest {counted(len(table.epochs), 'epoch')}"
        if table.older_epochs
        else f"all {counted(len(table.epochs), 'epoch')}"
    )
    columns = (
        PageColumn("epoch", "epoch", is_number=True),
        PageColumn("written", "written"),
        PageColumn("since", "after the one before", is_number=True),
        PageColumn("records", "records", is_number=True),
        PageColumn("bytes", "bytes", is_number=True),
        PageColumn("files", "files", is_number=True),
        PageColumn("dead", "dead letters", is_number=True),
        PageColumn("age", "newest record's age", is_number=True),
        PageColumn("event", "event"),
    )
    rows = [_epoch(one, since) for one, since in zip(table.epochs, _steps(table.epochs), strict=True)]
    caption = (
        f"Records, files and freshness of {which}; age: the epoch's time minus the newest record's timestamp."
    )
    yield h.figure("epochs", caption, h.table(caption, columns, rows))


def _steps(epochs: Sequence[EpochPoint]) -> Iterator[float | None]:
    """Yield the seconds between each epoch and the one before it."""
    yield None
    for before, after in pairwise(unix_time(one.written_at) for one in epochs):
        yield None if before is None or after is None else after - before


def _epoch(one: EpochPoint, since: float | None) -> list[Cell]:
    account = one.account
    return [
        one.epoch,
        one.written_at,
        None if since is None else (since, duration(since)),
        account.read,
        (account.bytes, size(account.bytes)),
        one.files,
        account.dead_lettered,
        None if one.age_seconds is None else (one.age_seconds, duration(one.age_seconds)),
        f"taken over by {one.taken_over_by}" if one.taken_over_by else "",
    ]


def _coverage(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield what became of each topic partition's offsets, those with the most waiting records first."""
    yield h("h3", "Offsets of each topic partition")
    if not table.coverage:
        yield h("p", "It has read nothing yet.", class_="soft")
        return
    order = sorted(table.coverage, key=lambda one: (-(one.place.waiting or 0), one.place.topic_partition))
    shown, note = _first(order, "topic partition")
    columns = (
        PageColumn("place", "topic partition"),
        PageColumn("start", "log start", is_number=True),
        PageColumn("first", "read from", is_number=True),
        PageColumn("position", "position", is_number=True),
        PageColumn("end", "log end", is_number=True),
        PageColumn("waiting", "waiting", is_number=True),
        PageColumn("written", "written", is_number=True),
        PageColumn("filtered", "filtered", is_number=True),
        PageColumn("tombstones", "tombstones", is_number=True),
        PageColumn("dead", "dead letters", is_number=True),
        PageColumn("absent", "absent", is_number=True),
        PageColumn("proof", "every offset accounted for"),
        PageColumn("gaps", "accepted as lost"),
    )
    caption = f"From where to where these epochs read, and what became of the offsets{note}."
    yield h.figure("coverage", caption, h.table(caption, columns, [_covered(one) for one in shown]))


def _covered(one: Coverage) -> list[Cell]:
    place, account = one.place, one.account
    gaps = " ".join(f"{gap.start}-{gap.end}" for gap in one.gaps)
    return [
        str(place.topic_partition),
        place.earliest,
        one.ranges[0].start if one.ranges else None,
        place.offset,
        place.latest,
        place.waiting,
        account.written,
        account.filtered,
        account.tombstones,
        account.dead_lettered,
        account.absent,
        _proof(one, account),
        (gaps, ", ".join(f"[{gap.start:,}, {gap.end:,})" for gap in one.gaps) or "-"),
    ]


def _proof(one: Coverage, account: OffsetAccounting) -> str:
    """Compare the lengths of the ranges with the sum of what became of their offsets."""
    if not one.ranges:
        return "nothing read in these epochs"
    offsets = sum(map(len, one.ranges))
    accounted = account.read + account.absent
    return f"yes: {offsets:,}" if offsets == accounted else f"{accounted:,} of {offsets:,}"


def _partitions(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield the files of the Hive partitions, the last ones by name."""
    yield h("h3", "Files of each Hive partition")
    if not table.partitions:
        yield h("p", "These epochs have no data files.", class_="soft")
        return
    shown, note = _first(table.partitions[::-1], "Hive partition")
    columns = (
        PageColumn("partition", "Hive partition"),
        PageColumn("files", "files", is_number=True),
        PageColumn("rows", "rows", is_number=True),
        PageColumn("bytes", "size", is_number=True),
        PageColumn("mean", "mean file", is_number=False),
        PageColumn("smallest", "smallest", is_number=True),
        PageColumn("largest", "largest", is_number=True),
    )
    rows: list[list[Cell]] = [
        [
            one.path or "(not partitioned)",
            one.files,
            one.rows,
            (one.bytes, size(one.bytes)),
            size(one.bytes / one.files),
            (one.smallest, size(one.smallest)),
            (one.largest, size(one.largest)),
        ]
        for one in shown
    ]
    caption = f"Data files that these epochs made, and their mean size{note}; older files are not counted."
    yield h.figure("partitions", caption, h.table(caption, columns, rows))


def _letters(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield the dead letters by reason, from the dead-letter files themselves."""
    letters = table.letters
    if letters is None:
        return
    yield h("h3", "Dead letters by reason")
    columns = (
        PageColumn("reason", "reason"),
        PageColumn("topic", "topic"),
        PageColumn("count", "dead letters", is_number=True),
        PageColumn("place", "one of them"),
        PageColumn("detail", "its text", is_wide=True),
    )
    rows: list[list[Cell]] = [
        [one.reason, one.topic, one.count, str(one.place), one.detail] for one in letters.groups
    ]
    caption = f"{counted(letters.letters, 'dead letter')} in {counted(letters.files, 'file')} of these epochs"
    if table.letter_files_left:
        caption += f"; {counted(table.letter_files_left, 'older file')} were not read"
    if letters.more_groups:
        caption += f"; {counted(letters.more_groups, 'rarer reason')} are not shown"
    yield h.figure("letters", caption + ".", h.table(caption + ".", columns, rows))
    for path, why in letters.not_read[:5]:
        yield h("p", f"Not read: {path} {why}", class_="alert")
    yield h(
        "p",
        *h.prose(
            f"`kafka2hive dead-letters show --table {table.name} -c MAP` shows the records;"
            f" after a changed map `kafka2hive dead-letters replay --table {table.name} -c MAP` decodes them again."
        ),
        class_="todo",
    )


def _certificates(h: Markup, table: TableHistory) -> Iterator[Element]:
    if not table.certificates:
        return
    yield h("h3", "Complete Hive partitions")
    shown, note = _first(table.certificates[::-1], "certificate")
    columns = (
        PageColumn("partition", "Hive partition"),
        PageColumn("written", "certified"),
        PageColumn("through", "Kafka read through"),
        PageColumn("rows", "rows", is_number=True),
        PageColumn("files", "files", is_number=True),
        PageColumn("policy", "policy"),
    )
    rows: list[list[Cell]] = [
        [
            one.certificate.partition.path,
            one.written_at,
            one.certificate.through,
            one.certificate.rows,
            one.certificate.files,
            one.certificate.policy,
        ]
        for one in shown
    ]
    yield h.table(f"Certificates that these epochs gave, newest first{note}.", columns, rows)


def _open_partitions(h: Markup, status: TableStatus) -> Iterator[Element]:
    state = status.view.state
    if state.tracking is None:
        return
    yield h("h3", "Hive partitions that are not complete")
    if not state.open:
        yield h("p", "All are complete.", class_="soft")
        return
    shown, note = _first(sorted(state.open, key=lambda one: one.opened_at), "Hive partition")
    columns = (
        PageColumn("partition", "Hive partition"),
        PageColumn("opened", "first file since"),
        PageColumn("rows", "rows", is_number=True),
        PageColumn("files", "files", is_number=True),
    )
    rows: list[list[Cell]] = [[one.partition.path, one.opened_at, one.rows, one.files] for one in shown]
    yield h.table(f"Files that no certificate counts, oldest first{note}.", columns, rows)


def _drift(h: Markup, table: TableHistory) -> Iterator[Element]:
    """Yield how Hive's table differs from the map's."""
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
    """Return the first rows and, if there are more, a text that says so."""
    note = f" (the first {MOST_ROWS} of {counted(len(rows), noun)})" if len(rows) > MOST_ROWS else ""
    return rows[:MOST_ROWS], note

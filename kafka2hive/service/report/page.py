"""The page of `report`: one HTML document that needs no other file and no network ([ADR 28](docs/adr/0028-report-page.md)).

Every text is data of an element tree, so no text from a broker, a record or Hive can become markup. The page's policy permits
only the scripts of this package, by their hashes, and no connection.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from kafka2hive import __version__
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted, duration, utc_text
from kafka2hive.service.inspect.attention import Attention, Urgency
from kafka2hive.service.inspect.status import StatusResult, TableStatus
from kafka2hive.service.report.markup import NUMBER, WIDE, Cell, Markup, PageColumn, raw
from kafka2hive.service.report.report import Report
from kafka2hive.service.report.sections import badge, run_section, sections

MOST_TABLES = 500
"""Maximum number of rows in the index; the tables that need attention come first."""

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("d3.min.js", "plot.umd.min.js", "report.js")
_COUNTS = {
    Urgency.ACT: ("makes no progress until you act", "make no progress until you act"),
    Urgency.FAILS: ("fails, or has no run", "fail, or have no run"),
    Urgency.BEHIND: ("is behind", "are behind"),
    Urgency.NOTE: ("is dumped, with a note", "are dumped, with a note"),
    Urgency.FINE: ("is fine", "are fine"),
}
"""What is said of one table, and of several."""


_UNRECORDED = (
    " The ledger does not record lag over time and the phases of an epoch: the page of a live run shows them"
    " (metrics.port in the map), and its metrics kafka2hive_lag_records and kafka2hive_epoch_phase_seconds."
)


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def page(report: Report, redact: Callable[[str], str] = str) -> bytes:
    """Return the page as UTF-8; `redact` replaces secrets in every text."""
    return _Page(report, Markup(redact)).document()


@dataclass(frozen=True, slots=True)
class _IndexRow:
    """A table in the index; `status` is None without a readable ledger, `anchor` is None if the table has no section."""

    attention: Attention
    status: TableStatus | None
    anchor: str | None

    @property
    def lag(self) -> int | None:
        return None if self.status is None else self.status.lag

    @property
    def state(self) -> Snapshot | None:
        return None if self.status is None else self.status.view.state


@dataclass(frozen=True, slots=True)
class _Page:
    report: Report
    h: Markup

    def document(self) -> bytes:
        """Return the whole document."""
        h, report = self.h, self.report
        made = utc_text(report.made_at)
        head = h(
            "head",
            h("meta", charset="utf-8"),
            self._policy(),
            h("meta", name="viewport", content="width=device-width, initial-scale=1"),
            h("meta", name="color-scheme", content="light dark"),
            h("meta", name="referrer", content="no-referrer"),
            h("link", rel="icon", href="data:,"),
            h("title", f"{report.service}: kafka2hive report of {made}"),
            raw("style", _asset("report.css")),
        )
        body = h("body", h("a", "To the tables", href="#tables", class_="skip"), *self._header(made))
        body.append(
            h("main", self._index(), *run_section(h, report.run_epochs), *self._details(), id="tables")
        )
        body.append(h("footer", *self._footer()))
        for name in _SCRIPTS:
            body.append(raw("script", _asset(name)))
        text = ElementTree.tostring(h("html", head, body, lang="en"), encoding="unicode", method="html")
        return f"<!DOCTYPE html>\n{text}\n".encode("utf-8", "backslashreplace")

    def _policy(self) -> Element:
        """Permit only this document's scripts, styles and inline images: no connection, no other script, no form."""
        scripts = " ".join(f"'sha256-{_hash(_asset(name))}'" for name in _SCRIPTS)
        policy = (
            f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:;"
            " base-uri 'none'; form-action 'none'"
        )
        return self.h("meta", http_equiv="Content-Security-Policy", content=policy)

    def _header(self, made: str) -> list[Element]:
        h, report, result = self.h, self.report, self.report.status
        title = h("h1", f"Service {report.service}")
        time = h("time", made, datetime=made)
        line = h(
            "p", "As kafka2hive read HDFS, Kafka and Hive at ", time, h("span", id="age"), ".", class_="soft"
        )
        numbers = {level: sum(one.urgency is level for one in report.attention) for level in Urgency}
        counts = [
            h("li", h("b", f"{number:,}"), _COUNTS[level][number != 1], class_=level.name.lower())
            for level, number in numbers.items()
            if number or level in (Urgency.ACT, Urgency.FINE)
        ]
        parts = [h("header", title, line), h("ul", *counts, class_="counts", aria_label="tables by state")]
        return parts + [h("p", *h.prose(text), class_="alert") for text in self._alerts(result)]

    def _alerts(self, result: StatusResult) -> Iterable[str]:
        """Yield the messages that concern the whole service."""
        if result.kafka_error:
            yield f"Kafka did not answer, so no lag is known: {result.kafka_error}"
        if (run := result.last_run) is not None:
            if run.end is None:
                start = "`kafka2hive run -c MAP` starts one"
                yield f"No run is alive: the last one was killed or died; its last report is of {run.at}. {start}."
            elif (trouble := run.end.trouble) is not None:
                ended = f"The last run ended at {run.at} with exit code {run.end.exit_code}"
                yield f"{ended}: [{trouble.code}] {trouble.message} {trouble.remedy}"
            else:
                yield f"No run is alive: the last one ended at {run.at} with exit code {run.end.exit_code}."
        yield from result.runs.warnings
        if result.map_differs:
            yield "The live run has loaded another version of this map: if this one is newer, a reload applies it."
        for order in result.waiting_orders:
            given = f"given by {order.given_by} at {order.given_at}"
            yield f"An order waits for the run: {order.instruction.kind} {order.table}, {given}."

    def _index(self) -> Element:
        """Return the table of all tables, the most urgent first, up to MOST_TABLES, and the chart of their lags."""
        h, report = self.h, self.report
        detailed = {table.name: f"t{number}" for number, table in enumerate(report.tables)}
        shown = report.attention[:MOST_TABLES]
        rows = [_IndexRow(one, report.status_of(one.table), detailed.get(one.table)) for one in shown]
        columns: tuple[PageColumn[_IndexRow], ...] = (
            PageColumn("table", "table", self._name),
            PageColumn("state", "state", self._state, WIDE),
            PageColumn("lag", "waits in Kafka", lambda row: row.lag, NUMBER),
            PageColumn("newest", "newest record", self._newest_record, NUMBER),
            PageColumn("epoch", "newest epoch", lambda row: row.state.epoch if row.state else None, NUMBER),
            PageColumn(
                "written",
                "written",
                lambda row: row.state.written_at if row.state else None,
                NUMBER,
            ),
        )
        caption = f"{counted(len(report.attention), 'table')}, those that need attention first"
        if more := len(report.attention) - len(shown):
            caption += f"; {more:,} more are not shown (`--table` selects tables, `kafka2hive status -c MAP` shows all)"
        table = h.table(caption.replace("`", ""), columns, rows, class_="index")
        figure = h("figure", table, h("div", class_="chart"), data_chart="lag")
        return h("section", figure, aria_label="all tables")

    def _name(self, row: "_IndexRow") -> Cell:
        table = row.attention.table
        return self.h("a", table, href=f"#{row.anchor}") if row.anchor else self.h("span", table)

    def _state(self, row: "_IndexRow") -> Cell:
        h, attention = self.h, row.attention
        state = h("div", badge(h, attention), h("div", attention.detail, class_="soft"))
        if attention.remedy:
            state.append(h("div", "What to do: ", *h.prose(attention.remedy)))
        return state

    def _newest_record(self, row: "_IndexRow") -> Cell:
        newest_ms = None if row.state is None else row.state.newest_ms
        if newest_ms is None:
            return None
        return newest_ms, f"{duration(max(self.report.made_at - newest_ms / 1000, 0))} old"

    def _details(self) -> Iterable[Element]:
        attention = {one.table: one for one in self.report.attention}
        for number, table in enumerate(self.report.tables):
            status = self.report.status_of(table.name)
            if status is not None:
                yield sections(
                    h=self.h, anchor=f"t{number}", table=table, status=status, attention=attention[table.name]
                )
        more = len(self.report.status.tables) - len(self.report.tables)
        if more > 0:
            text = f"{counted(more, 'table')} with a ledger have no section: `--details N` shows more, `--table` selects some."
            yield self.h("p", *self.h.prose(text), class_="soft")

    def _footer(self) -> Iterable[Element]:
        h, scope = self.h, self.report.scope
        yield h(
            "p",
            f"kafka2hive {__version__}. Histories cover at most the newest {counted(scope.epochs, 'epoch')} of"
            f" {counted(len(self.report.tables), 'table')}, those that need attention most."
            f"{'' if self.report.run_epochs else _UNRECORDED} All times are UTC.",
            class_="soft",
        )
        if self.report.drift_failure:
            yield h("p", f"Hive was not compared with the map: {self.report.drift_failure}", class_="soft")
        yield h("noscript", h("p", "Charts need scripts; all their numbers are in the tables."))


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

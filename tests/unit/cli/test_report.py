"""The page of `report`: its numbers are the ledger's, its words say what to do, and no foreign text is more than text."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kafka2hive.kafka.port import Watermark
from kafka2hive.ledger.epoch import publish
from kafka2hive.model.errors import ExitCode, ManualActionRequired, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import Certificate, Pause
from kafka2hive.observe.log import Redaction
from kafka2hive.service.init.offset_sources import PlacedOffset
from kafka2hive.service.inspect.attention import Attention, Urgency, attention_of
from kafka2hive.service.inspect.dead_letters import DeadLetterList, LetterGroup
from kafka2hive.service.inspect.plan import TablePlan
from kafka2hive.service.inspect.state import (
    LastOutcome,
    NotInMap,
    NotRunning,
    OwnerLife,
    Paused,
    Repairing,
    Starting,
    TableState,
)
from kafka2hive.service.inspect.status import (
    LAST_EPOCHS,
    EpochStatus,
    StatusResult,
    TableStatus,
    TableWithoutLedger,
)
from kafka2hive.service.inspect.where import OffsetPlace
from kafka2hive.service.report.page import MOST_TABLES, page
from kafka2hive.service.report.report import (
    Coverage,
    DatedCertificate,
    EpochPoint,
    PartitionFiles,
    Report,
    ReportScope,
    TableHistory,
    report,
)
from kafka2hive.service.tables.condition import (
    Retrying,
    RunConditions,
    RunEnd,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
    encode,
)
from tests.harness.beating import beating_owner
from tests.harness.cli_ledger import NOBODY, READ, TABLE, invoke, local, pending_service
from tests.harness.mock_broker import Broker, plain_map
from tests.harness.values import view_of
from tests.unit.service.later_epochs import change_of, stage, take

ASSETS = Path(__file__).parents[3] / "kafka2hive/service/report/assets"
VENDORED = {
    "d3.min.js": "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
    "plot.umd.min.js": "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
}
GENERATION = "g000007.20130101T000000Z-host-1-" + "0" * 32
PLACE = TopicPartition("flights", 0)
WRITTEN, NOW = "2026-11-25T12:00:00Z", 1_795_608_060.0
"""The newest epoch, and a minute later in Unix seconds."""
LATER = NOW + 3_600
CERTIFIED = HivePartition("air.flights", "dt=1", "w")
ATTACKS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<!--",
    "]]>",
    "&lt;b&gt;",
    "`<b>`",
    "\u202etxt.exe\x00",
)
LOST = Trouble(
    "kafka.offsets_lost", "5 offsets are gone unread", "`kafka2hive recover --accept-gap flights-0`"
)


def table_of(state: TableState, lag: int | None = 0, **known: object) -> TableStatus:
    """Table air.flights in this state; `known` are fields of its newest snapshot, or of the status itself."""
    names = ("last_epochs", "warnings", "last", "longest_interval")
    own: dict[str, object] = {name: known.pop(name) for name in names if name in known}
    positions = (Position(PLACE, 0, 100),)
    view = view_of(GENERATION, **{"table": TABLE, "written_at": WRITTEN, "positions": positions, **known})
    view = replace(view, newest=replace(view.newest, pending=False))
    ends = {} if lag is None else {PLACE: Watermark(100 + lag)}
    plain: dict[str, object] = {"warnings": (), "last_epochs": (), **own}
    return TableStatus(view=view, state=state, owner_life=OwnerLife.ALIVE, ends=ends, **plain)  # type: ignore[arg-type]


def only(table: TableStatus, now: float = NOW, last_run: RunConditions | None = None) -> Attention:
    (one,) = attention_of(StatusResult((table,), (), None, last_run=last_run), now)
    return one


DEAD = EpochStatus(3, WRITTEN, 1, 10, OffsetAccounting(read=500, written=488, dead_lettered=12))
PAUSE = Pause(since=WRITTEN, by="etl@host", order="1", epoch=3)
CRASH = RunConditions((), WRITTEN)


@pytest.mark.parametrize(
    ("one", "urgency", "said"),
    [
        (only(table_of(Serving())), Urgency.FINE, "Fine: nothing waits in Kafka"),
        (only(table_of(Serving(), 7)), Urgency.FINE, "Fine: 7 offsets wait in Kafka"),
        (
            only(table_of(Serving(), 7), LATER),
            Urgency.BEHIND,
            "Behind: 7 offsets wait in Kafka, and the newest",
        ),
        (only(table_of(Serving(), 7, longest_interval=3_600.0), LATER), Urgency.FINE, "Fine"),
        (only(table_of(Serving()), LATER), Urgency.FINE, "Fine"),
        (only(table_of(Stopped(LOST), 7)), Urgency.ACT, "Stopped: needs you: [kafka.offsets_lost] 5 offsets"),
        (
            only(table_of(Retrying(LOST, "2026-11-25T13:00:00Z"))),
            Urgency.FAILS,
            "Fails: retried at 2026-11-25T13:00:00Z: [kafka.offsets_lost]",
        ),
        (
            only(table_of(Retrying(LOST, WRITTEN))),
            Urgency.FAILS,
            "Fails: being tried again now: [kafka.offsets_lost]",
        ),
        (
            only(table_of(Paused(), 7, paused=PAUSE)),
            Urgency.NOTE,
            "Paused on purpose: paused by etl@host since",
        ),
        (
            only(table_of(NotRunning(), 7, paused=PAUSE)),
            Urgency.BEHIND,
            "Paused on purpose: paused by etl@host",
        ),
        (only(table_of(NotRunning(), 0)), Urgency.FINE, "No run is alive: nothing waits in Kafka"),
        (only(table_of(NotRunning(), 7)), Urgency.BEHIND, "No run is alive: 7 offsets wait in Kafka"),
        (only(table_of(NotRunning(), None)), Urgency.BEHIND, "No run is alive: Kafka did not answer"),
        (
            only(table_of(NotRunning()), NOW, CRASH),
            Urgency.FAILS,
            "No run is alive: the last run was killed or died",
        ),
        (only(table_of(NotInMap())), Urgency.NOTE, "Not in the map"),
        (only(table_of(Starting())), Urgency.NOTE, "Starting"),
        (only(table_of(Repairing("host-1"))), Urgency.NOTE, "Under repair: process host-1"),
        (
            only(table_of(Serving(), last_epochs=(DEAD,))),
            Urgency.NOTE,
            "Dumped, with a note: 12 of the last 500 records became dead letters",
        ),
        (
            only(table_of(Serving(), warnings=("x",))),
            Urgency.NOTE,
            "Dumped, with a note: warning of the run: x",
        ),
        (
            only(
                table_of(NotRunning(), last=LastOutcome(WRITTEN, True, TableCondition(TABLE, Stopped(LOST))))
            ),
            Urgency.ACT,
            "Stopped: needs you: [kafka.offsets_lost] 5 offsets are gone unread (reported by the last run at",
        ),
    ],
)
def test_each_state_of_a_table_is_said_in_words(one: Attention, urgency: Urgency, said: str) -> None:
    assert (one.urgency, f"{one.headline}: {one.detail}"[: len(said)]) == (urgency, said)


def test_what_to_do_is_the_command_of_the_trouble_or_the_one_that_tells_more() -> None:
    assert only(table_of(Stopped(LOST))).remedy == LOST.remedy
    assert (
        f"recover --plan --table {TABLE} -c MAP" in only(table_of(Stopped(replace(LOST, remedy="")))).remedy
    )
    assert f"resume --table {TABLE} -c MAP" in only(table_of(Paused(), paused=PAUSE)).remedy
    assert f"dead-letters list --table {TABLE}" in only(table_of(Serving(), last_epochs=(DEAD,))).remedy
    assert "kafka2hive run -c MAP" in only(table_of(NotRunning(), 7)).remedy
    assert only(table_of(Serving())).remedy == ""


def test_the_most_urgent_table_is_first_and_of_two_the_one_with_more_waiting_records() -> None:
    def named(name: str, state: TableState, lag: int = 0) -> TableStatus:
        return table_of(state, lag, table=name) if name == TABLE else replace_name(table_of(state, lag), name)

    def replace_name(table: TableStatus, name: str) -> TableStatus:
        paths = replace(table.view.paths, table=name)
        return replace(table, view=replace(table.view, paths=paths))

    tables = (
        named("a.fine", Serving()),
        named("b.less", NotRunning(), 5),
        named("c.more", NotRunning(), 50),
        named("d.stopped", Stopped(LOST)),
    )
    errors = (
        ("e.damaged", ManualActionRequired("ledger.checksum", "damaged", "restore it")),
        ("f.silent", TableError("storage.unavailable", "no answer")),
    )
    result = StatusResult(tables, errors, None, not_begun=(TableWithoutLedger("g.new"),))
    order = [one.table for one in attention_of(result, NOW)]
    assert order == ["d.stopped", "e.damaged", "f.silent", "c.more", "b.less", "a.fine", "g.new"]


@pytest.fixture(scope="module")
def broker() -> Broker:
    """A Kafka whose topic flights ends at 60."""
    broker = Broker()
    broker.produce("flights", 60)
    return broker


def test_the_numbers_are_those_that_the_ledger_records(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    wiring = service.wiring
    owned = take(wiring)
    for day in ("2013-01-02", "2013-01-02", "2013-01-03"):
        owned = publish(wiring.ports, owned, change_of(stage(wiring, owned, day))).owned
    owned = take(wiring)
    publish(wiring.ports, owned, change_of(stage(wiring, owned, "2013-01-03")))
    whole = report(wiring, wiring.kafka(5.0), ReportScope())
    (table,) = whole.tables
    assert [one.account.read for one in table.epochs if one.account.read] == [READ] * 5
    numbers = [one.epoch for one in table.epochs]
    assert numbers == list(range(len(numbers))) and not table.older_epochs
    taken = [bool(one.taken_over_by) for one in table.epochs]
    assert taken[0] is False and taken[-1] is True and taken[-2] is False
    files = {one.path: (one.files, one.rows) for one in table.partitions}
    assert files == {
        "dt=2013-01-01": (2, READ),
        "dt=2013-01-02": (2, 2 * READ),
        "dt=2013-01-03": (2, 2 * READ),
    }
    (coverage,) = table.coverage
    assert coverage.ranges == (OffsetRange(PLACE, 5, 5 + 5 * READ),)
    assert (coverage.account.read, coverage.place.offset, coverage.place.latest) == (5 * READ, 55, 60)
    assert whole.status.tables[0].lag == 5

    fewer = report(wiring, wiring.kafka(5.0), ReportScope(epochs=2)).tables[0]
    assert [one.epoch for one in fewer.epochs] == numbers[-2:] and fewer.older_epochs
    assert fewer.coverage[0].ranges == (OffsetRange(PLACE, 35, 55),)
    assert report(wiring, wiring.kafka(5.0), ReportScope(details=0)).tables == ()


class Elements(HTMLParser):
    """All elements of a page with their attributes, and its texts without those of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts.append(data)
        elif self._open != "style":
            self.texts.append(data)


def hostile_report(text: str) -> Report:
    """A report in which every text that others can choose is this one."""
    place = PlacedOffset(TopicPartition(text, 0), 100, 0, 200)
    certificate = Certificate(
        partition=replace(CERTIFIED, path=text),
        since=1,
        files=1,
        rows=1,
        through=text,
        policy=text,
        success_file=text,
    )
    trouble = Trouble(text, text, text)
    status = table_of(Stopped(trouble), warnings=(text,), location=text)
    status = replace(status, view=replace(status.view, paths=replace(status.view.paths, table=text)))
    group = LetterGroup(text, text, text, 3, OffsetPlace(TopicPartition(text, 0), 5), text)
    table = TableHistory(
        name=text,
        epochs=(
            EpochPoint(
                epoch=1,
                written_at=text,
                files=1,
                bytes=1,
                account=OffsetAccounting(),
                age_seconds=1.0,
                taken_over_by=text,
            ),
        ),
        partitions=(PartitionFiles(text, 1, 1, 1, 1, 1),),
        coverage=(
            Coverage(place, (OffsetRange(TopicPartition(text, 0), 0, 100),), OffsetAccounting(read=100), ()),
        ),
        certificates=(DatedCertificate(text, certificate),),
        letters=DeadLetterList(3, 1, (group,), not_read=((text, text),)),
        plan=TablePlan(text, (text,)),
        failures=(text,),
    )
    run = RunConditions((), text, RunEnd(76, trouble))
    result = StatusResult((status,), ((text, TableError(text, text, text)),), text, last_run=run)
    attention = attention_of(result, NOW)
    return Report(
        service=text,
        made_at=NOW,
        scope=ReportScope(),
        status=result,
        attention=attention,
        tables=(table,),
        drift_failure=text,
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_texts_of_others_are_only_text(attack: str) -> None:
    plain = Elements(page(hostile_report("plain")).decode())
    hostile = Elements(page(hostile_report(attack)).decode())
    as_code = [one for one in hostile.elements if one[0] != "code"]
    assert [tag for tag, _ in as_code] == [tag for tag, _ in plain.elements if tag != "code"]
    assert [sorted(names) for _, names in as_code] == [
        sorted(names) for tag, names in plain.elements if tag != "code"
    ]
    assert hostile.scripts == plain.scripts
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", "".join(hostile.texts))


def test_the_page_permits_only_its_own_scripts_and_no_connection() -> None:
    parsed = Elements(page(hostile_report("x")).decode())
    (policy,) = [
        str(names["content"])
        for _, names in parsed.elements
        if names.get("http-equiv") == "Content-Security-Policy"
    ]
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in parsed.scripts]
    assert len(hashes) == 3 and all(f"'sha256-{one}'" in policy for one in hashes)
    assert policy.startswith("default-src 'none';") and "connect-src" not in policy
    assert not any({"src", "onload", "onclick"} & names.keys() for _, names in parsed.elements)
    addresses = [names["href"] for _, names in parsed.elements if "href" in names]
    assert {str(one)[:1] for one in addresses} == {"#", "d"} and "data:," in addresses


@pytest.mark.parametrize("secret", ["s3cr3t", 'a<b>&"c'])
def test_no_secret_is_in_the_page(secret: str) -> None:
    text = page(hostile_report(f"refused {secret} by the broker"), Redaction([secret])).decode()
    seen = Elements(text)
    assert secret not in "".join(seen.texts) and secret not in text
    assert not any(secret in str(value) for _, names in seen.elements for value in names.values())
    assert "refused *** by the broker" in "".join(seen.texts)


def test_of_5000_tables_the_urgent_ones_are_listed_and_the_rest_is_counted() -> None:
    def named(number: int) -> TableStatus:
        state = Stopped(LOST) if number == 4_321 else Serving()
        one = table_of(state)
        return replace(one, view=replace(one.view, paths=replace(one.view.paths, table=f"air.t{number:04d}")))

    result = StatusResult(tuple(map(named, range(5_000))), (), None)
    whole = Report(
        service="air",
        made_at=NOW,
        scope=ReportScope(),
        status=result,
        attention=attention_of(result, NOW),
        tables=(),
    )
    text = page(whole).decode()
    rows = re.findall(r'<th scope="row"><span>(air\.t\d+)</span>', text)
    assert rows[0] == "air.t4321" and len(rows) == MOST_TABLES
    assert "5,000 tables, those that need attention first; 4,500 more are not shown" in text
    assert "<b>1</b>makes no progress until you act" in text and "<b>4,999</b>are fine" in text
    assert len(text) < 1_500_000


def run_report(config: Path, output: Path, *more: str) -> dict[str, object]:
    done = invoke("report", "-c", str(config), "-o", str(output), "--json", *more)
    assert done.exit_code == 0, done.output
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_the_command_writes_the_page_as_a_whole_and_says_what_needs_attention(
    tmp_path: Path, broker: Broker
) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    out = tmp_path / "report.html"
    out.write_text("the former page")
    said = encode(
        RunConditions((TableCondition(TABLE, Stopped(replace(LOST, message="s3cr3t refused"))),))
    ).decode()
    with beating_owner(service.map, TABLE, said):
        told = run_report(service.map, out)
    assert [(one["table"], one["urgency"]) for one in told["tables"]] == [(TABLE, "act")]  # type: ignore[attr-defined]
    text = out.read_text()
    assert text.startswith("<!DOCTYPE html>") and "*** refused" in text and "s3cr3t" not in text
    assert [path.name for path in tmp_path.iterdir() if "in-progress" in path.name] == []


def test_the_page_can_go_to_standard_output_and_says_what_did_not_answer(tmp_path: Path) -> None:
    done = invoke("report", "-c", str(pending_service(tmp_path).map), "-o", "-")
    assert done.exit_code == 0
    assert (
        done.stdout.startswith("<!DOCTYPE html>")
        and "Kafka did not answer, so no lag is known" in done.stdout
    )


def test_a_file_that_cannot_be_written_and_an_unknown_table_are_told(tmp_path: Path) -> None:
    config = str(pending_service(tmp_path).map)
    done = invoke("report", "-c", config, "-o", str(tmp_path / "none" / "report.html"))
    assert done.exit_code == ExitCode.CONFIG and "[usage.output]" in done.stderr
    done = invoke("report", "-c", config, "-o", str(tmp_path / "r.html"), "--table", "air.flight")
    assert done.exit_code == ExitCode.CONFIG and "did you mean air.flights?" in done.stderr
    done = invoke("report", "-c", config, "-o", "-", "--json")
    assert done.exit_code == ExitCode.USAGE


def test_the_libraries_of_the_page_are_the_released_ones() -> None:
    assert {name: hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() for name in VENDORED} == VENDORED


def test_what_cannot_be_read_of_one_table_is_said_in_its_section(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    wiring = service.wiring
    owned = take(wiring)
    for _ in range(LAST_EPOCHS):
        owned = publish(wiring.ports, owned, change_of(stage(wiring, owned, "2013-01-02"))).owned
    (older,) = local(wiring.paths(TABLE).ledgers).parent.rglob("e000001.final")
    older.write_text(older.read_text().replace('"epoch":1', '"epoch":9'))
    (table,) = report(wiring, wiring.kafka(5.0), ReportScope()).tables
    (failure,) = table.failures
    assert "e000001.final" in failure
    assert invoke("report", "-c", str(service.map), "-o", str(tmp_path / "r.html")).exit_code == 0
    assert "Not everything could be read: [ledger." in (tmp_path / "r.html").read_text()
    assert table.epochs[0].epoch == 2 and table.coverage


def test_a_hive_that_does_not_answer_is_said_at_the_end(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    service.map.write_text(service.map.read_text() + f'hive: {{url: "hive://{NOBODY}"}}\n')
    plain_map(service.map)
    out = tmp_path / "r.html"
    assert invoke("report", "-c", str(service.map), "-o", str(out)).exit_code == 0
    assert (
        f"Hive was not compared with the map: [hive.unavailable] HiveServer2 at {NOBODY}" in out.read_text()
    )


def test_hive_is_not_asked_about_a_table_whose_topic_is_gone(tmp_path: Path) -> None:
    """A pattern still matches the topic that the ledger names, and Kafka has it no more."""
    other = Broker()
    other.produce("fleets", 1)
    service = pending_service(tmp_path, bootstrap=other.address)
    text = (
        service.map.read_text()
        .replace(TABLE, '"air.{topic}"')
        .replace("topics: [flights]", "pattern: (?P<topic>flights)")
    )
    service.map.write_text(text + f'hive: {{url: "hive://{NOBODY}"}}\n')
    plain_map(service.map)
    out = tmp_path / "r.html"
    done = invoke("report", "-c", str(service.map), "-o", str(out))
    assert done.exit_code == 0, done.output
    assert TABLE in out.read_text() and "Hive was not compared" not in out.read_text()

"""The documents of `--json` as they were promised: frozen in tests/contract/json_output, one file for each.

A key may be added: `scripts/pages` then writes the files again, and `tests/unit/test_pages.py` checks them. It refuses where a
key is renamed, removed or means something else, which raises the format.
"""

import datetime
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from kafka2hive.cli.explain.catalogue import explain
from kafka2hive.cli.render.compact import compact_document
from kafka2hive.cli.render.counts import comparison_document, counts_document
from kafka2hive.cli.render.dead_letters import letters_document, list_document, replay_document
from kafka2hive.cli.render.explain import explain_document
from kafka2hive.cli.render.lookup import certificate_document, where_document
from kafka2hive.cli.render.offsets import init_document, offsets_document
from kafka2hive.cli.render.order import order_document
from kafka2hive.cli.render.preview import plan_document, preview_document
from kafka2hive.cli.render.recover import recover_document
from kafka2hive.cli.render.reload import reload_document
from kafka2hive.cli.render.report import report_document
from kafka2hive.cli.render.retain import retain_document
from kafka2hive.cli.render.size import size_document
from kafka2hive.cli.render.status_document import status_document
from kafka2hive.cli.render.validate import (
    doctor_document,
    map_document,
    online_document,
    problems_document,
)
from kafka2hive.cli.render.verify import verify_document
from kafka2hive.cli.terminal.document import Document
from kafka2hive.config.keys import Flush, Limits
from kafka2hive.config.load import load_text
from kafka2hive.config.native_library import DecoderInUse
from kafka2hive.config.yaml.problems import MapProblem
from kafka2hive.kafka.port import Watermark
from kafka2hive.ledger.inbox import Order, PauseTable
from kafka2hive.ledger.staged_files import StagedFiles
from kafka2hive.model.errors import ManualActionRequired, TableError
from kafka2hive.model.files import DataFile, FileKind, FileMoves, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import (
    AcceptedGap,
    AcceptedLoss,
    Certificate,
    EarlyPartition,
    EventBounds,
    OpenPartition,
    Pause,
    RecordedOrder,
)
from kafka2hive.plan.contract import Refusal, TableManifest
from kafka2hive.service.compaction.command import CompactedPartition, CompactRequest, CompactResult
from kafka2hive.service.compaction.units import CompactionCounts
from kafka2hive.service.init.init import InitOutcome, InitResult, InitTable
from kafka2hive.service.init.offset_sources import PlacedOffset
from kafka2hive.service.inspect.attention import attention_of
from kafka2hive.service.inspect.certificate import Completion, PartitionName, PartitionReport
from kafka2hive.service.inspect.counts import ALL, TableCounts, WindowKey, WindowSum
from kafka2hive.service.inspect.dead_letters import DeadLetterList, Letter, LetterGroup, LetterPage
from kafka2hive.service.inspect.offsets import OffsetsResult, OwnedOffsets
from kafka2hive.service.inspect.plan import PlanResult, TablePlan
from kafka2hive.service.inspect.preview import PreviewLetter, PreviewResult, PreviewRow, TablePreview
from kafka2hive.service.inspect.producer_counts import ComparedWindow, Comparison, CountVerdict
from kafka2hive.service.inspect.state import LastOutcome, OwnerLife, Runs
from kafka2hive.service.inspect.status import (
    DroppedFiles,
    EpochStatus,
    RetentionStatus,
    StatusResult,
    TableStatus,
    TableWithoutLedger,
)
from kafka2hive.service.inspect.where import OffsetPlace, PartitionDrop, PlaceAnswer
from kafka2hive.service.orders.delivery import OrderAnswer
from kafka2hive.service.recover.result import RecoveredTable, RecoverResult, Recovery
from kafka2hive.service.replay.command import ReplayRequest, ReplayResult, result_of_order
from kafka2hive.service.replay.letter_files import ReplayCounts
from kafka2hive.service.report.report import Report, ReportScope, TableHistory
from kafka2hive.service.retention.command import RetainRequest, RetainResult
from kafka2hive.service.retention.expired import ExpiredPartition
from kafka2hive.service.sizing.model import RecordKind, ServiceCost, TableLoad, cost_of
from kafka2hive.service.start.preview import PendingFiles
from kafka2hive.service.tables.condition import (
    ReloadAnswer,
    Retrying,
    RunConditions,
    RunEnd,
    TableCondition,
    Trouble,
)
from kafka2hive.service.tables.never_filled import NeverFilledColumn
from kafka2hive.service.validate.check import Check, Failed, Passed, Warned
from kafka2hive.service.validate.online import OnlineResult
from kafka2hive.service.verify.result import Finding, TableAuditResult, VerifyResult
from kafka2hive.storage.port import FileStatus
from tests.harness.cli_ledger import document, invoke, pending_service, write_map
from tests.harness.values import data_file, view_of

FROZEN = Path(__file__).parent / "json_output"
GENERATION = "g000007.20130101T000000Z-host-1-" + "0" * 32
PARTITION = TopicPartition("flights", 0)
MAP = """\
service: flights
kafka: {bootstrap.servers: "127.0.0.1:9092", sasl.password: hidden}
storage: {uri: "hdfs://namenode:8020"}
hive: {url: "hive://etl@hiveserver:10000"}
run_directory: /run/kafka2hive
tables:
  - table: air.flights
    topics: [flights]
    columns: {carrier: string, flight: bigint, time_hour: timestamp}
    bucket: {field: time_hour}
"""


def _recovered() -> RecoverResult:
    done = RecoveredTable(
        "air.flights",
        Recovery.DONE,
        GENERATION,
        epoch=42,
        rolled_forward=41,
        moves=FileMoves(created=5, renamed=3, already_there=1, given_up=1, retried=2),
        orphans_deleted=4,
        registered=2,
        unregistered=1,
        repaired=("hdfs://namenode:8020/a.final",),
        gaps=(
            AcceptedGap(
                range=OffsetRange(PARTITION, 3, 9),
                reason="retention",
                accepted_at="2013-01-01T00:00:00Z",
                epoch=42,
            ),
        ),
        forgotten=(
            HivePartition("air.flights", "dt=2012-12-31", "hdfs://namenode:8020/air/flights/dt=2012-12-31"),
        ),
        resumes_at=(Position(PARTITION, 10, 20),),
    )
    lost = ManualActionRequired(
        "ledger.missing", "hdfs://namenode:8020/b.final: neither there nor staged", "give it up"
    )
    stopped = RecoveredTable("air.planes", Recovery.STOPPED, error=lost)
    return RecoverResult((done, stopped))


def _paused() -> OrderAnswer:
    pause = Pause(since="2013-01-01T00:00:05Z", by="anna@etl1", order="0c9d" * 8, epoch=42)
    record = RecordedOrder(
        id=pause.order,
        kind="pause",
        given_by=pause.by,
        given_at="2013-01-01T00:00:00Z",
        done_at=pause.since,
        epoch=42,
        result="done",
    )
    order = Order(
        id=pause.order,
        service="flights",
        table="air.flights",
        given_by=pause.by,
        given_at=record.given_at,
        instruction=PauseTable(),
    )
    return OrderAnswer(order, record, view_of(GENERATION, table="air.flights", epoch=42, paused=pause).state)


def _reloaded() -> ReloadAnswer:
    return ReloadAnswer(
        order="0c9d1f",
        given_by="anna@etl1",
        at="2026-11-25T08:00:03Z",
        outcome="applied",
        map="f" * 64,
        added=("air.delays",),
        changed=(("air.flights", ("flush.interval", "columns.gate")),),
        removed=("air.old",),
        keys=("limits.epoch_records",),
        restart=(),
        trouble=None,
        aside=(("air.delays", Trouble("hive.no_table", "air.delays does not exist", "create it")),),
        exit_code=75,
    )


def _planned() -> RecoverResult:
    table = RecoveredTable(
        "air.flights",
        Recovery.PLANNED,
        GENERATION,
        epoch=41,
        rolled_forward=41,
        pending=PendingFiles(3, 1),
        unregistered=2,
        resumes_at=(Position(PARTITION, 10, 20),),
    )
    return RecoverResult((table,), "nobody answers at 127.0.0.1:9092")


DECODER = DecoderInUse(True, "0.1.0")


def _status() -> StatusResult:
    account = OffsetAccounting(
        read=9, written=5, filtered=1, tombstones=1, dead_lettered=2, absent=3, bytes=900, late=1
    )
    partition = HivePartition(
        "air.flights", "dt=2013-01-01", "hdfs://namenode:8020/w/air.db/flights/dt=2013-01-01"
    )
    dropped = replace(
        partition, path="dt=2011-11-26", location="hdfs://namenode:8020/w/air.db/flights/dt=2011-11-26"
    )
    gap = AcceptedGap(range=OffsetRange(PARTITION, 0, 0), reason="aged out", accepted_at="then", epoch=1)
    loss = AcceptedLoss(path="a.final", remedy="accept-loss", rows=1, accepted_at="then", epoch=1)
    view = view_of(
        GENERATION,
        table="air.flights",
        epoch=41,
        written_at="2013-01-01T00:00:00Z",
        files=(data_file(),) * 4,
        newest_ms=1_356_998_400_000,
        positions=(Position(PARTITION, 10, 20), Position(TopicPartition("flights", 1), 7, 7)),
        unregistered=(partition,),
        gaps=(gap,),
        losses=(loss, replace(loss, remedy="refetch")),
        paused=Pause(since="2013-01-01T00:00:00Z", by="anna@etl1", order="0c9d" * 8, epoch=41),
        early=(
            EarlyPartition(
                partition=replace(
                    partition, location="hdfs://namenode:8020/w/air.db/flights/_open/dt=2013-01-01"
                ),
                since=40,
                closes="2013-01-02T00:00:00Z",
                files=2,
                rows=7,
                certified=41,
            ),
        ),
        bounds=EventBounds(
            planned_ms=1_356_998_399_000, max_future_ms=86_400_000, late_before_ms=1_356_912_000_000
        ),
    )
    table = TableStatus(
        view,
        Retrying(
            Trouble("hive.columns", "Hive has no column b", "add it"),
            "2013-01-01T00:00:05Z",
            "2013-01-01T00:00:00Z",
        ),
        OwnerLife.ALIVE,
        ("column Titel was never filled",),
        {PARTITION: Watermark(32)},
        (EpochStatus(40, "2013-01-01T00:00:00Z", 2, 7, account),),
        _last_outcome("air.flights"),
        RetentionStatus(
            34_560_000.0,
            "2011-11-28T00:00:00Z",
            (DroppedFiles(dropped, PartitionDrop(40, "2012-12-31T23:00:00Z"), 5, 12_000_000),),
            (("dt=2011-11-27", "it is not complete yet"),),
        ),
        staged=StagedFiles(
            "hdfs://namenode:8020/w/air.db/flights/_tmp",
            (FileStatus("hdfs://namenode:8020/w/air.db/flights/_tmp/a", 2_000_000, False),),
            (FileStatus("hdfs://namenode:8020/w/air.db/flights/_tmp/b", 1_000_000, False),),
        ),
    )
    damaged = ManualActionRequired("ledger.damaged", "the checksum is wrong")
    away = Trouble("kafka.unavailable", "nobody answers at 127.0.0.1:9092", "start it")
    return StatusResult(
        (table,),
        (("air.planes", damaged),),
        "nobody answers at 127.0.0.1:9092",
        (
            TableWithoutLedger("air.crews", last=_last_outcome("air.crews")),
            TableWithoutLedger("air.gates", _last_outcome("air.gates").condition),
        ),
        RunConditions((), "2013-01-01T00:00:00Z", RunEnd(69, away)),
        6,
        False,
        str(DECODER),
        (_paused().order,),
        Runs(
            frozenset({"me"}),
            {
                "me": RunConditions(
                    (), warnings=("HiveServer2 has not answered since 2013-01-01T00:00:00Z: refused",)
                )
            },
        ),
    )


def _last_outcome(table: str) -> LastOutcome:
    state = Retrying(
        Trouble("hive.refused", "Hive refuses a statement", "as Hive says"),
        "2013-01-01T00:00:05Z",
        "2013-01-01T00:00:00Z",
    )
    return LastOutcome(
        "2013-01-01T00:00:00Z", True, TableCondition(table, state, ("no column takes $.gate",))
    )


def _init() -> InitResult:
    root = "hdfs://namenode:8020/kafka2hive/kafka_partition_offsets"
    refused = TableError("storage.quota", "the quota is used up", "raise it")
    return InitResult(
        (
            InitTable("air.flights", f"{root}/air.flights", InitOutcome.MADE),
            InitTable("air.planes", f"{root}/air.planes", InitOutcome.EXISTS),
            InitTable(
                "air.crew",
                f"{root}/air.crew",
                InitOutcome.IMPORTED,
                positions=(PlacedOffset(PARTITION, 1200, 300, 1500),),
            ),
            InitTable("air.crews", f"{root}/air.crews", InitOutcome.FAILED, refused),
        )
    )


def _verified() -> VerifyResult:
    finding = Finding(
        "verify.missing", "hdfs://namenode:8020/a.final", "does not exist; 5 rows of flights-0@[3, 8)"
    )
    table = TableAuditResult(
        "air.flights",
        42,
        80,
        336_776,
        12_000_000,
        (finding,),
        ("Kafka: nobody answers",),
        ("500 offsets aged out of Kafka: flights-0@[0, 500)",),
        ("air.flights dt=2012-12-31 is not registered in Hive; given up at 2013-01-01T00:00:00Z: denied",),
    )
    return VerifyResult(
        (table,), (("air.planes", ManualActionRequired("ledger.damaged", "the checksum is wrong")),)
    )


def _offsets() -> OffsetsResult:
    placed = (PlacedOffset(PARTITION, 1200, 300, 1500), PlacedOffset(TopicPartition("flights", 1), 7))
    damaged = ManualActionRequired("ledger.damaged", "the checksum is wrong")
    return OffsetsResult((OwnedOffsets("air.flights", placed),), (("air.planes", damaged),))


def _partition_report() -> PartitionReport:
    location = "hdfs://namenode:8020/w/dt=2013-01-01"
    partition = HivePartition("air.flights", "dt=2013-01-01", location)
    given = Certificate(
        partition=partition,
        since=40,
        files=2,
        rows=100,
        through="2013-01-02T01:00:00Z",
        policy="3600s after its end",
        success_file="_SUCCESS",
    )
    late = OpenPartition(partition=partition, since=43, opened_at="2013-01-02T09:00:00Z", files=1, rows=5)
    path = f"{location}/_kafka2hive_complete-00000000-g000001-e000042.json"
    return PartitionReport(
        completion=Completion.LATE,
        location=location,
        certificates=((path, "2013-01-02T01:00:05Z", given),),
        open=late,
        findings=(Finding("verify.missing", f"{location}/a.final", "does not exist; 50 rows"),),
    )


def _dropped_report() -> PartitionReport:
    location = "hdfs://namenode:8020/w/dt=2013-01-01"
    drop = PartitionDrop(900, "2014-02-05T00:00:00Z")
    return PartitionReport(completion=Completion.DROPPED, location=location, drop=drop)


def _counts() -> TableCounts:
    return TableCounts(
        "air.flights",
        {
            WindowKey("flights", "2026-11-21T08:00:00Z", 600, 3): WindowSum(
                records=98, dead_lettered=1, bytes=29_900, first=100, last=198
            ),
            WindowKey("flights", "", 600, ALL): WindowSum(records=1, bytes=100),
        },
        uncounted=4711,
        uncounted_through_ms=1_795_248_000_000,
    )


def _comparison() -> Comparison:
    return Comparison(
        table="air.flights",
        against="flights-counts",
        windows=(
            ComparedWindow("flights", "2026-11-21T08:00:00Z", 600, 100, 98, CountVerdict.FEWER),
            ComparedWindow("flights", "2026-11-21T08:10:00Z", 600, None, 7, CountVerdict.UNTOLD),
        ),
        malformed_count=1,
        malformed=(("flights-counts-0@17", "not JSON"),),
        without_window=1,
    )


def _where() -> tuple[PlaceAnswer, ...]:
    file = DataFile(
        kind=FileKind.DATA,
        staged="hdfs://namenode:8020/w/_tmp/a.pending",
        final="hdfs://namenode:8020/w/dt=2013-01-01/a.final",
        hive_partition=HivePartition("air.flights", "dt=2013-01-01", "hdfs://namenode:8020/w/dt=2013-01-01"),
        length=100,
        rows=5,
        checksum="crc32:00000000",
        task=0,
        ranges=(OffsetRange(PARTITION, 3, 8),),
    )
    drop = PartitionDrop(900, "2014-02-05T00:00:00Z", "2014-02-06T00:00:05Z")
    kept = replace(file, final="hdfs://namenode:8020/w/dt=2013-01-02/b.final")
    return (
        PlaceAnswer(
            "air.flights",
            "read by task 0 of epoch 42",
            42,
            (file, kept),
            {file.final: drop},
            frozenset({kept.final}),
        ),
    )


def _dead_letters() -> DeadLetterList:
    group = LetterGroup(
        "air.flights",
        "flights",
        "json.type",
        7,
        OffsetPlace(PARTITION, 5),
        "column n expects bigint, got string",
    )
    gone = ("hdfs://namenode:8020/d/a.final", "is not there")
    return DeadLetterList(9, 2, (group,), 1, (gone,), 12, 3)


def _dead_letter() -> LetterPage:
    letter = Letter(
        "air.flights",
        OffsetPlace(PARTITION, 5),
        42,
        "json.type",
        "column n expects bigint, got string",
        datetime.datetime(2013, 1, 1),
        None,
        b'{"n": "x"}',
        (("trace", b"1"),),
        "hdfs://namenode:8020/d/a.final",
    )
    return LetterPage((letter,), more=True)


def _online() -> OnlineResult:
    kept = TableError("kafka.retention", "topic flights keeps records for 60 s", "raise retention.ms")
    return OnlineResult(
        (
            Check("kafka", "topic flights", Passed("4 partitions, 336,776 offsets, kept for 168 h")),
            Check("kafka", "topic flights", Warned(kept)),
            Check("hive", "air.flights", Failed(TableError("hive.columns", "no column b", "add it"))),
        )
    )


def _preview() -> PreviewResult:
    values = {
        "flight": 7,
        "time_hour": datetime.datetime(2013, 1, 1, 10),
        "day": datetime.date(2013, 1, 1),
        "price": Decimal("1.50"),
        "delay": float("nan"),
        "key": b"\x00",
        "tags": {"gate": [None, True]},
        "plane": {"seats": 200},
        "nothing": [],
    }
    flights = TablePreview(
        "air.flights",
        (OffsetRange(PARTITION, 3, 6),),
        (PreviewRow(OffsetPlace(PARTITION, 3), "dt=2013-01-01", values),),
        (PreviewLetter(OffsetPlace(PARTITION, 4), "json.type", "column n expects bigint, got string"),),
        tombstones=1,
        misspelled=(NeverFilledColumn("carier", "carrier"),),
    )
    missing = TableError("kafka.unknown_topic", "air.planes: Kafka does not have topic planes", "create it")
    return PreviewResult((flights, TablePreview("air.planes", error=missing)))


def _plan() -> PlanResult:
    statement = "ALTER TABLE `air`.`flights` ADD COLUMNS (`price` decimal(10,2)) CASCADE"
    differs = TableError("hive.columns", "air.planes: column a is int in the map, string in Hive", "alter it")
    return PlanResult(
        (
            TablePlan("air.flights", (statement,)),
            TablePlan("air.planes", error=differs),
            TablePlan("air.dead_letters"),
        )
    )


def _replay() -> ReplayResult:
    refusal = Refusal(
        code="json.type",
        column="id",
        count=4,
        topic_partition=PARTITION,
        offset=12,
        detail="column id: a number was expected",
    )
    manifest = TableManifest(table="air.flights", task=0, generation=7, epoch=43, refusals=(refusal,))
    return ReplayResult(
        account=OffsetAccounting(read=9, written=5, filtered=1, tombstones=1, dead_lettered=2, more_rows=3),
        files=2,
        unchanged=1,
        unchanged_letters=2,
        epochs=[43],
        unregistered=1,
        manifests=[manifest],
        not_read=[("hdfs://namenode:8020/letters.parquet.final", "is not there")],
        not_read_files=1,
    )


def _report() -> Report:
    status, now = _status(), 1_356_998_460.0
    return Report(
        service="flights",
        made_at=now,
        scope=ReportScope(),
        status=status,
        attention=attention_of(status, now),
        tables=(TableHistory(name="air.flights", failures=("[storage.unavailable] no answer",)),),
    )


def _replay_by_order() -> ReplayResult:
    counts = ReplayCounts(
        files=2,
        account=_replay().account,
        unchanged=1,
        unchanged_letters=2,
        not_read_files=4,
        not_read=(("hdfs://namenode:8020/letters.parquet.final", "is not there"),),
    )
    record = RecordedOrder(
        id="5e3a" * 8,
        kind="replay",
        given_by="anna@etl1",
        given_at="2013-01-01T00:00:00Z",
        done_at="2013-01-01T00:01:00Z",
        epoch=47,
        result=counts.result,
    )
    return result_of_order(record)


def _compacted() -> CompactResult:
    location = "hdfs://namenode:8020/w/air.db/flights"
    days = [
        HivePartition("air.flights", f"dt=2013-01-0{day}", f"{location}/_open/dt=2013-01-0{day}")
        for day in (1, 2, 3)
    ]
    wrong = TableError("compact.sources", "it has 2 files, the ledger has 3", "verify names the missing ones")
    return CompactResult(
        "air.flights",
        (
            CompactedPartition(days[0], 40, 9000, 2_400_000, 1, 1, 900_000),
            CompactedPartition(days[1], 3, 700, error=wrong),
            CompactedPartition(days[2], 2, 100, waits="it is not complete"),
        ),
        corrected=(replace(days[0], location=f"{location}/dt=2013-01-01"),),
        retired=(HivePartition("air.flights", "dt=2012-12-30", f"{location}/dt=2012-12-30"),),
        deleted=61,
        problems=(TableError("compact.home_changed", "a file is not there", "restore it"),),
    )


def _compacted_by_order() -> CompactResult:
    compacted, failed, waiting = _compacted().partitions
    record = RecordedOrder(
        id="7c1d" * 8,
        kind="compact",
        given_by="anna@etl1",
        given_at="2013-01-04T00:00:00Z",
        done_at="2013-01-04T00:01:00Z",
        epoch=48,
        result=CompactionCounts.of(1, {failed.partition.path: str(failed.error)}).result,
    )
    return CompactResult("air.flights", (compacted, failed, waiting), order=record)


def _retained() -> RetainResult:
    location = "hdfs://namenode:8020/w/air.db/flights"
    days = [
        HivePartition("air.flights", f"dt=2013-01-0{day}", f"{location}/dt=2013-01-0{day}")
        for day in (1, 2, 3)
    ]
    return RetainResult(
        "air.flights",
        "2013-01-04T00:00:00Z",
        (
            ExpiredPartition(days[1], 40, 2_400_000),
            ExpiredPartition(days[2], 3, 700, "it is not compacted yet"),
        ),
        dropping=(days[1],),
        cleared=(days[0],),
        deleted=12,
        foreign=(f"{location}/dt=2013-01-01/notes.txt",),
        refused=((days[1], "Hive has it at /elsewhere, where this ledger has no files"),),
    )


def _cost() -> ServiceCost:
    load = TableLoad("air.flights", 1_000, 300, RecordKind.JSON, Flush())
    return cost_of([load, replace(load, name="air.quiet", records=0)], Limits(), trigger_seconds=10.0)


def documents() -> dict[str, Document]:
    problem = MapProblem(3, 1, "trigerr", "no such key", "trigger")
    return {
        "recover": recover_document("flights", False, _recovered()),
        "recover-plan": recover_document("flights", True, _planned()),
        "status": status_document("flights", _status()),
        "report": report_document(_report(), "report.html"),
        "validate": map_document(load_text(MAP, "flights.yaml", {}), (), DECODER),
        "validate-online": online_document(load_text(MAP, "flights.yaml", {}), _online(), DECODER),
        "doctor": doctor_document("flights", _online()),
        "validate-wrong": problems_document([problem]),
        "verify": verify_document("flights", _verified()),
        "size": size_document("flights", _cost()),
        "where": where_document("flights", "flights-0@5", _where()),
        "counts": counts_document("flights", _counts()),
        "counts-against": comparison_document("flights", _comparison()),
        "certificate": certificate_document(
            "flights", PartitionName("air.flights", "dt=2013-01-01"), _partition_report()
        ),
        "certificate-dropped": certificate_document(
            "flights", PartitionName("air.flights", "dt=2013-01-01"), _dropped_report()
        ),
        "explain": explain_document(explain("kafka.offsets_lost")),
        "pause": order_document("flights", _paused()),
        "reload": reload_document("reload", "flights", _reloaded()),
        "offsets-show": offsets_document("flights", _offsets()),
        "plan": plan_document("flights", _plan()),
        "preview": preview_document("flights", _preview()),
        "init": init_document("flights", _init()),
        "dead-letters-list": list_document("flights", _dead_letters()),
        "dead-letters-show": letters_document("flights", _dead_letter()),
        "compact": compact_document("flights", CompactRequest("air.flights"), _compacted()),
        "compact-by-order": compact_document("flights", CompactRequest("air.flights"), _compacted_by_order()),
        "retain": retain_document("flights", RetainRequest("air.flights"), _retained()),
        "dead-letters-replay": replay_document("flights", ReplayRequest(table="air.flights"), _replay()),
        "dead-letters-replay-by-order": replay_document(
            "flights", ReplayRequest(table="air.flights"), _replay_by_order()
        ),
    }


def test_every_frozen_document_has_format_command_and_exit_code() -> None:
    frozen = [json.loads(path.read_text()) for path in FROZEN.glob("*.json")]
    assert len(frozen) == len(documents())
    assert all({"format": 1}.items() <= value.items() for value in frozen)
    assert all({"command", "exit_code"} <= value.keys() for value in frozen)


def _shape(value: object) -> object:
    """Keys at every depth; a list is its first element, a value nothing. None may stand for anything."""
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    return None


def _fits(shape: object, frozen: object) -> bool:
    if shape is None or frozen is None or shape == []:
        return True
    if isinstance(shape, dict) and isinstance(frozen, dict):
        return shape.keys() == frozen.keys() and all(_fits(shape[key], frozen[key]) for key in shape)
    if isinstance(shape, list) and isinstance(frozen, list):
        return not frozen or _fits(shape[0], frozen[0])
    return False


@pytest.mark.parametrize(
    ("arguments", "name", "exit_code"),
    [
        (("recover", "--plan"), "recover-plan", 69),
        (("recover",), "recover", 0),
        (("status",), "status", 69),
    ],
)
def test_the_commands_print_documents_of_the_frozen_shape(
    tmp_path: Path, arguments: tuple[str, ...], name: str, exit_code: int
) -> None:
    service = pending_service(tmp_path)
    result = invoke(*arguments, "--json", "-c", str(service.map))
    assert result.exit_code == exit_code
    printed = document(result)
    assert printed["exit_code"] == exit_code
    assert _fits(_shape(printed), _shape(json.loads((FROZEN / f"{name}.json").read_text())))


def test_validate_prints_its_problems_as_a_document_and_ends_with_78(tmp_path: Path) -> None:
    result = invoke("validate", "--json", "-c", str(write_map(tmp_path, more="trigerr: 5s\n")))
    assert result.exit_code == 78
    (problem,) = json.loads(result.stdout)["problems"]
    assert (problem["line"], problem["where"], problem["suggestion"]) == (9, "trigerr", "trigger")

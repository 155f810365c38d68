"""`validate`: the text of a map that is right, the documents of a right and a wrong one."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.text import Text

from kafka2hive.cli.render.before_run.checks import check_document, lines_of
from kafka2hive.cli.render.document import Document, document
from kafka2hive.cli.screen import Screen, render
from kafka2hive.config.machine.native_library import DecoderInUse
from kafka2hive.config.problems import MapProblem
from kafka2hive.config.shown import shown
from kafka2hive.config.values import Bucketing, BucketTime, ServiceMap, TableRule
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.quantities import counted, size
from kafka2hive.service.online.checks import Check


def render_map(
    service_map: ServiceMap, checks: Sequence[Check], decoder: DecoderInUse, screen: Screen
) -> str:
    """What will be dumped where; the whole map with its defaults is what `validate --json` prints."""
    hive = service_map.hive
    head: list[Text | str] = [
        Text(f"{service_map.path} is right: service {service_map.service}", style="bold green"),
        f"  ledgers       {service_map.storage.ledger_root}",
        f"  tables        {service_map.storage.warehouse}",
        f"  dead letters  {service_map.dead_letters.table}",
        f"  Hive          {f'{hive.host}:{hive.port} as {hive.user}' if hive else 'none: files only'}",
    ]
    head.append(Text(f"  decoder       {decoder}", style="" if decoder.is_compiled else "yellow"))
    if service_map.registry:
        head.append(f"  registry      {service_map.registry.url}")
    head += [part for rule in service_map.tables for part in _table(rule)]
    if checks:
        head += ["", *lines_of(checks)]
    return render(screen, head)


def _table(rule: TableRule) -> list[Text | str]:
    source = f"/{rule.pattern}/" if rule.pattern is not None else ", ".join(rule.topics)
    columns = counted(len(rule.columns), "column") if rule.columns else "columns as in Hive"
    flush = rule.flush
    return [
        "",
        Text(rule.table, style="bold").append(f"  <-  {source}", style="not bold"),
        f"  {rule.format}, {columns}, {_bucket(rule.bucketing)}",
        f"  begins at {rule.start.kind.value}, due every {flush.interval_seconds:g} s or {size(flush.bytes)}",
    ]


def _bucket(bucketing: Bucketing) -> str:
    if not bucketing.path:
        return "unpartitioned"
    time = bucketing.field_text if bucketing.time is BucketTime.EVENT else f"{bucketing.time.value} time"
    return f"{bucketing.path} by {time} in {bucketing.zone}"


def map_document(service_map: ServiceMap, checks: Sequence[Check], decoder: DecoderInUse) -> Document:
    """The whole map with its defaults, secrets hidden. `checks`: what Spark says of tables with SQL."""
    found = [check_document(check) for check in checks] or None
    return document(
        "validate", ExitCode.DONE, map=shown(service_map), problems=[], checks=found, decoder=str(decoder)
    )


def problems_document(problems: Iterable[MapProblem]) -> Document:
    """`validate` of a wrong map; lines and columns count from 1."""
    found = [asdict(problem) | {"suggestion": problem.suggestion or None} for problem in problems]
    return document("validate", ExitCode.CONFIG, map=None, problems=found, checks=None)

"""What `validate` shows of a map that is right."""

from rich.text import Text

from kafka2hive.cli.screen import Screen, render
from kafka2hive.config.values import Bucketing, BucketTime, ServiceMap, TableRule
from kafka2hive.model.quantities import counted, size


def render_map(service_map: ServiceMap, screen: Screen) -> str:
    """What will be dumped where; the whole map with its defaults is what `validate --json` prints."""
    hive = service_map.hive
    head: list[Text | str] = [
        Text(f"{service_map.path} is right: service {service_map.service}", style="bold green"),
        f"  ledgers       {service_map.storage.ledger_root}",
        f"  tables        {service_map.storage.warehouse}",
        f"  dead letters  {service_map.dead_letters.table}",
        f"  Hive          {f'{hive.host}:{hive.port} as {hive.user}' if hive else 'none: files only'}",
    ]
    return render(screen, head + [part for rule in service_map.tables for part in _table(rule)])


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

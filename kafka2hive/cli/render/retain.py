"""Text and JSON document of `retain`."""

from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.text import counted, size
from kafka2hive.service.retention.command import RetainRequest, RetainResult
from kafka2hive.service.retention.expired import ExpiredPartition


def render_retain(request: RetainRequest, result: RetainResult, screen: Screen) -> str:
    """Return one line for each expired partition, then the numbers of partitions and files that are dropped or deleted."""
    before = f"  periods that ended by {result.expired_before} have expired" if result.expired_before else ""
    lines = [Text(result.table, style="bold").append(before, style="not bold")]
    if not result.partitions and not result.dropping and not result.cleared and result.error is None:
        lines.append(Text("  no partition has expired: there is nothing to drop"))
    refused = {partition for partition, _ in result.refused}
    lines += [_line(request, each, each.partition in refused) for each in result.partitions]
    if result.dropping:
        count = counted(len(result.dropping), "dropped partition")
        lines.append(
            Text(f"  the files of {count} are deleted a day after Hive has dropped them", style="cyan")
        )
    if result.cleared or result.deleted:
        cleared = counted(len(result.cleared), "dropped partition")
        lines.append(Text(f"  {cleared} cleared, {counted(result.deleted, 'file')} deleted", style="green"))
    lines += [
        Text(f"  {path} stays: this ledger did not write it", style="yellow") for path in result.foreign
    ]
    lines += [
        Text(f"  {partition.path}  Hive does not drop it: {why}", style="red")
        for partition, why in result.refused
    ]
    if result.error is not None:
        lines += [Text("  " + line, style="red") for line in str(result.error).splitlines()]
    return render(screen, lines)


def _line(request: RetainRequest, each: ExpiredPartition, is_refused: bool) -> Text:
    amount = f"{counted(each.files, 'file')}, {size(each.length)}: " if each.files else ""
    outcome = f"stays, {each.waits}" if each.waits else "would be dropped" if request.plan_only else "dropped"
    style = "yellow" if each.waits else "cyan" if request.plan_only else "green"
    if is_refused:
        outcome, style = "expired, but Hive still has it", "red"
    return Text(f"  {each.partition.path}  ", style="bold").append(
        f"{amount}{outcome}", style=f"not bold {style}"
    )


def retain_document(service: str, request: RetainRequest, result: RetainResult) -> Document:
    """Return the document of `retain`."""
    return document(
        "retain",
        result.exit_code,
        service=service,
        plan=request.plan_only,
        table=result.table,
        expired_before=result.expired_before or None,
        partitions=[
            {
                "partition": each.partition.path,
                "location": each.partition.location,
                "files": each.files,
                "bytes": each.length,
                "waits": each.waits or None,
            }
            for each in result.partitions
        ],
        dropping=[partition.path for partition in result.dropping],
        cleared=[partition.path for partition in result.cleared],
        deleted_files=result.deleted,
        foreign=list(result.foreign),
        refused=[{"partition": partition.path, "reason": why} for partition, why in result.refused],
        error=None if result.error is None else error_of(result.error),
    )

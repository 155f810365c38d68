"""Text and JSON document of `compact`."""

from dataclasses import asdict

from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.text import counted, size
from kafka2hive.service.compaction.command import CompactedPartition, CompactRequest, CompactResult


def render_compact(request: CompactRequest, result: CompactResult, screen: Screen) -> str:
    """Return one line for each partition that waits for compaction or was compacted."""
    lines = [Text(result.table, style="bold")]
    if result.order is not None:
        done = result.order
        lines.append(Text(f"  order {done.id} was carried out in epoch {done.epoch} at {done.done_at}"))
    if not result.partitions and result.error is None:
        lines.append(Text("  no partition is at its early place: there is nothing to compact"))
    for each in result.partitions:
        style = "red" if each.error else "yellow" if each.waits else "cyan" if request.plan_only else "green"
        lines.append(
            Text(f"  {each.partition.path}  ", style="bold").append(_text(each), style=f"not bold {style}")
        )
    for partition in result.corrected:
        lines.append(
            Text(
                f"  {partition.path}  somebody had changed its location in Hive back; it was set again",
                style="yellow",
            )
        )
    lines += [
        Text(f"  {partition.path}  its early files are not needed any more", style="green")
        for partition in result.retired
    ]
    if result.deleted:
        lines.append(Text(f"  {counted(result.deleted, 'early file')} deleted", style="green"))
    lines += [Text("  " + line, style="red") for each in result.problems for line in str(each).splitlines()]
    for partition in result.unregistered:
        lines.append(
            Text(f"  {partition.path}  not registered in Hive at {partition.location} yet", style="yellow")
        )
    for partition, why in result.refused:
        lines.append(Text(f"  {partition.path}  Hive refuses to set its location: {why}", style="red"))
    if result.error is not None:
        lines += [Text("  " + line, style="red") for line in str(result.error).splitlines()]
    return render(screen, lines)


def _text(each: CompactedPartition) -> str:
    before = f"{counted(each.files, 'file')}, {counted(each.rows, 'row')}"
    if each.error is not None:
        return f"{before}: {each.error}"
    if each.waits:
        return f"{before}: stays early, {each.waits}"
    if not each.written_files:
        return f"{before}, {size(each.length)}: would become about {counted(each.units, 'file')}"
    after = f"{counted(each.written_files, 'file')}, {size(each.written_length)}"
    return f"{before}, {size(each.length)}: now {after}, at its home"


def compact_document(service: str, request: CompactRequest, result: CompactResult) -> Document:
    """Return the document of `compact`."""
    return document(
        "compact",
        result.exit_code,
        service=service,
        plan=request.plan_only,
        table=result.table,
        partitions=[
            {
                "partition": each.partition.path,
                "early": each.partition.location,
                "files": each.files,
                "rows": each.rows,
                "bytes": each.length,
                "units": each.units,
                "written_files": each.written_files,
                "written_bytes": each.written_length,
                "waits": each.waits or None,
                "error": None if each.error is None else error_of(each.error),
            }
            for each in result.partitions
        ],
        corrected=[partition.path for partition in result.corrected],
        retired=[partition.path for partition in result.retired],
        deleted_files=result.deleted,
        problems=[error_of(each) for each in result.problems],
        unregistered=[partition.path for partition in result.unregistered],
        refused=[{"partition": partition.path, "reason": why} for partition, why in result.refused],
        error=None if result.error is None else error_of(result.error),
        order=None if result.order is None else asdict(result.order),
    )

"""Text and JSON documents of `dead-letters`."""

from base64 import b64encode
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import counted, size, with_local_times
from kafka2hive.plan.contract import LETTERS_WITHOUT_BYTES
from kafka2hive.service.inspect.dead_letters import DeadLetterList, Letter, LetterPage

if TYPE_CHECKING:
    from kafka2hive.service.replay.command import ReplayRequest, ReplayResult


_HIDDEN = "  record   not shown, because the table has columns with a mask"


def render_list(service: str, result: DeadLetterList, screen: Screen) -> str:
    """Return one line per source table, topic and reason, and below it one example, which may be long."""
    if not result.groups and not result.not_read and not result.expired:
        return render(screen, [f"service {service}: no dead letters"])
    parts: list[RenderableType] = []
    width = max((len(f"{group.count:,}") for group in result.groups), default=0)
    for group in result.groups:
        example = f"{group.place}: {group.detail}" if group.detail else str(group.place)
        parts.append(Text(f"{group.count:>{width},}  {group.reason}  {group.table} from {group.topic}"))
        parts.append(Text(f"{'':{width}}  for example {example}", style="dim"))
    parts.append(f"{counted(result.letters, 'dead letter')} in {counted(result.files, 'file')}")
    if result.more_groups:
        parts.append(f"{result.more_groups} more lines (--limit)")
    if result.expired:
        files = counted(result.expired_files, "file")
        parts.append(
            f"{counted(result.expired, 'dead letter')} in {files} expired, and cannot be replayed any more"
        )
    parts += [Text(f"not read: {path} {why}", style="yellow") for path, why in result.not_read]
    return render(screen, parts)


def render_letters(result: LetterPage, screen: Screen) -> str:
    """Return every byte of each dead letter: as text if it is UTF-8, in hexadecimal digits otherwise."""
    parts: list[RenderableType] = []
    for letter in result.letters:
        parts.append(Text(f"{letter.place}  {letter.reason}: {letter.detail}", style="bold"))
        parts += [Text(line) for line in _lines(letter)]
    if result.more:
        parts.append("there are more (--limit)")
    return render(screen, parts)


def render_replay(request: "ReplayRequest", result: "ReplayResult", screen: Screen) -> str:
    """Return what became of the dead letters, or what would, and why some remain dead letters."""
    account, planned = result.account, request.plan_only
    parts: list[RenderableType] = []
    if result.files:
        was = "would be replayed" if planned else "replayed"
        parts.append(
            f"{request.table}: {counted(account.read, 'dead letter')} of {counted(result.files, 'file')} {was}"
        )
        parts.append(f"  {account.written:,} become {counted(account.rows, 'row')}")
        parts += [
            f"  {number:,} {text}"
            for number, text in (
                (account.filtered, "hold no row"),
                (account.tombstones, "are tombstones"),
                (account.dead_lettered, "stay dead letters"),
            )
            if number
        ]
    else:
        parts.append(
            f"{request.table}: no dead letter becomes a row; nothing {'would be' if planned else 'was'} changed"
        )
    if result.unchanged:
        files = counted(result.unchanged, "file")
        parts.append(
            f"{counted(result.unchanged_letters, 'dead letter')} of {files} fail again and stay where they are"
        )
    if result.without_bytes:
        letters = counted(result.without_bytes, "dead letter")
        why = "do not hold their records (dead_letters.payload), and stay as they are"
        parts.append(Text(f"[{LETTERS_WITHOUT_BYTES}] {letters} {why}"))
    for refusal in result.refusals:
        example = f"{refusal.topic_partition}@{refusal.offset}: {refusal.detail}"
        parts.append(Text(f"  {refusal.count:,} {refusal.code}, e.g. {example}"))
    if result.order is not None:
        order = result.order
        parts.append(f"order {order.id} was carried out by the run, and recorded in epoch {order.epoch}")
        if account.dead_lettered or result.unchanged:
            parts.append(
                f"`kafka2hive dead-letters list --table {request.table} -c MAP` shows why letters stay"
            )
    if result.epochs:
        parts.append(f"committed as epoch {', '.join(map(str, result.epochs))}")
    if result.unregistered:
        parts.append(
            f"{counted(result.unregistered, 'registration')} pending in Hive: the next run or `recover` tries again"
        )
    parts += [Text(f"not read: {path} {why}", style="yellow") for path, why in result.not_read]
    if more := result.not_read_files - len(result.not_read):
        parts.append(Text(f"not read: {counted(more, 'more file')}, named in the run's log", style="yellow"))
    return render(screen, parts)


def list_document(service: str, result: DeadLetterList) -> Document:
    """Return the document of `dead-letters list`: counts, the most frequent first, with place and detail of an example."""
    groups = [
        {
            "table": group.table,
            "topic": group.topic,
            "reason": group.reason,
            "count": group.count,
            "example": {"place": str(group.place), "detail": group.detail},
        }
        for group in result.groups
    ]
    return document(
        "dead-letters list",
        ExitCode.DONE,
        service=service,
        dead_letters=result.letters,
        files=result.files,
        groups=groups,
        more_groups=result.more_groups,
        not_read=[{"path": path, "why": why} for path, why in result.not_read],
        expired=result.expired,
        expired_files=result.expired_files,
    )


def letters_document(service: str, result: LetterPage) -> Document:
    """Return the document of `dead-letters show`: bytes in base64, null if the record has none."""
    letters = [
        {
            "place": str(letter.place),
            "table": letter.table,
            "epoch": letter.epoch,
            "reason": letter.reason,
            "detail": letter.detail,
            "timestamp": letter.time_text,
            "key": _base64(letter.key),
            "value": _base64(letter.value),
            "headers": None
            if letter.headers is None
            else [{"key": key, "value": _base64(value)} for key, value in letter.headers],
            "file": letter.file,
            "hidden": letter.is_hidden,
        }
        for letter in result.letters
    ]
    return document(
        "dead-letters show", ExitCode.DONE, service=service, dead_letters=letters, more=result.more
    )


def replay_document(service: str, request: "ReplayRequest", result: "ReplayResult") -> Document:
    """Return the document of `dead-letters replay`: what became of the dead letters, or with `plan` what would."""
    account = result.account
    refusals = [
        {
            "reason": refusal.code,
            "column": refusal.column,
            "count": refusal.count,
            "example": {"place": f"{refusal.topic_partition}@{refusal.offset}", "detail": refusal.detail},
        }
        for refusal in result.refusals
    ]
    return document(
        "dead-letters replay",
        ExitCode.DONE,
        service=service,
        table=request.table,
        plan=request.plan_only,
        files=result.files,
        letters=account.read,
        written=account.written,
        rows=account.rows,
        filtered=account.filtered,
        tombstones=account.tombstones,
        again=account.dead_lettered,
        unchanged_files=result.unchanged,
        unchanged_letters=result.unchanged_letters,
        without_payload=result.without_bytes,
        refusals=refusals,
        epochs=result.epochs,
        unregistered=result.unregistered,
        not_read=[{"path": path, "why": why} for path, why in result.not_read],
        not_read_files=result.not_read_files,
        order=None if result.order is None else asdict(result.order),
    )


def _lines(letter: Letter) -> list[str]:
    return [
        f"  table    {letter.table}, epoch {letter.epoch}",
        f"  file     {letter.file}",
        f"  time     {with_local_times(letter.time_text or 'none')}",
        *(_payload_lines(letter) if not letter.is_hidden else [_HIDDEN]),
    ]


def _payload_lines(letter: Letter) -> list[str]:
    return [
        f"  key      {_text(letter.key)}",
        *(f"  header   {name} = {_text(value)}" for name, value in letter.headers or ()),
        f"  value    {_text(letter.value)}",
    ]


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    length = size(len(data))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"{length}, not UTF-8: {data.hex(' ')}"
    return f"{length}: {text}" if text.isprintable() else f"{length}: {text!r}"


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()

"""The documents of `dead-letters list` and `show`."""

from base64 import b64encode

from kafka2hive.cli.render.json.document import Document, document
from kafka2hive.model.errors import ExitCode
from kafka2hive.service.dead_letters import DeadLetterList, FoundLetters


def list_document(service: str, result: DeadLetterList) -> Document:
    """`dead-letters list`: counts, the most frequent first; each with the place and detail of one of them."""
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
    )


def letters_document(service: str, result: FoundLetters) -> Document:
    """`dead-letters show`: bytes in base64, null where the record has none."""
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
        }
        for letter in result.letters
    ]
    return document(
        "dead-letters show", ExitCode.DONE, service=service, dead_letters=letters, more=result.more
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()

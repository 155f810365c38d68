"""The examples of `--json` documents in tests/contract/json_output: a key may come, but none may go or mean something else."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from kafka2hive.cli.terminal.document import json_text
from tests.contract.test_json_output import FROZEN, documents


class PromiseBroken(Exception):
    """A document lacks what users' programs may read."""


def frozen_documents() -> Mapping[Path, Callable[[], str]]:
    """Return the text of each example by its file."""
    return {
        FROZEN / f"{name}.json": partial(_text, FROZEN / f"{name}.json", document)
        for name, document in documents().items()
    }


def _text(file: Path, document: object) -> str:
    text = f"{json_text(document)}\n"  # type: ignore[arg-type]
    if file.exists():
        keep_promises(file.name, json.loads(file.read_text()), json.loads(text))
    return text


def keep_promises(name: str, frozen: Any, written: Any) -> None:
    """Raise PromiseBroken if a key or a value of the frozen document is gone or is another one."""
    broken = list(_broken(frozen, written, ""))
    if broken:
        raise PromiseBroken(
            f"{name}: {', '.join(broken)} is gone or has another value, and users' programs may read it."
            f" If that is meant: raise the documents' format, delete tests/contract/json_output/{name}, type scripts/pages"
        )


def _broken(frozen: Any, written: Any, where: str) -> Iterator[str]:
    if isinstance(frozen, dict) and isinstance(written, dict):
        for key, value in frozen.items():
            if key in written:
                yield from _broken(value, written[key], f"{where}.{key}")
            else:
                yield f"{where}.{key}"
    elif isinstance(frozen, list) and isinstance(written, list) and len(frozen) == len(written):
        for at, (before, now) in enumerate(zip(frozen, written, strict=True)):
            yield from _broken(before, now, f"{where}[{at}]")
    elif frozen != written or type(frozen) is not type(written):
        yield where

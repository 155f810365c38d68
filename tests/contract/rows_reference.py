"""A slow judge of messages with several rows: Python's json takes a message apart, the exact decoder judges each row."""

import json
from typing import Any

import pyarrow as pa

from kafka2hive.decode.json import JsonExactDecoder
from kafka2hive.plugins import Reason

BLANKS = b" \t\r\n"


class Judge:
    def __init__(self, schema: pa.Schema, kind: str) -> None:
        self._kind = kind
        self._one = JsonExactDecoder(schema, "UTC")

    def of(self, message: bytes) -> list[list[Any]] | str:
        """The rows, or the code of a reason."""
        texts = self._lines(message) if self._kind == "lines" else self._elements(message)
        if isinstance(texts, str):
            return texts
        rows = []
        for text in texts:
            outcome = self._one.decode(text)
            if isinstance(outcome, Reason):
                return outcome.code
            rows.append(outcome)
        return rows

    @staticmethod
    def _lines(message: bytes) -> list[bytes]:
        return [line for line in message.split(b"\n") if line.strip(BLANKS)]

    @staticmethod
    def _elements(message: bytes) -> list[bytes] | str:
        """The elements' own texts: found by parsing one JSON value after the other."""
        if not message.strip(BLANKS):
            return "json.empty"
        try:
            text = message.decode()
        except UnicodeDecodeError:
            return "json.utf8"
        reader, blanks = json.JSONDecoder(), BLANKS.decode()

        def skip(at: int) -> int:
            while at < len(text) and text[at] in blanks:
                at += 1
            return at

        try:
            whole = json.loads(text) if not text.startswith("\ufeff") else 1 / 0
        except (ValueError, ZeroDivisionError):
            return "json.syntax"
        if not isinstance(whole, list):
            return "json.array"
        found, at = [], skip(0) + 1
        for _ in whole:
            start = skip(at)
            _, at = reader.raw_decode(text, start)
            found.append(text[start:at].encode())
            at = skip(at) + 1
        return found

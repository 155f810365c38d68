"""The fields of one message in plain Python: slow, strict, and the only one that refuses messages."""

import re

from kafka2hive.config.values.csv import CsvOptions
from kafka2hive.pipeline.decode.exact.json_values import Refused


def blanks_of(options: CsvOptions) -> str:
    """What is left out around fields."""
    return " \t".replace(options.delimiter, "") if options.trim else ""


class Fields:
    """Takes messages apart as `options` say."""

    def __init__(self, options: CsvOptions) -> None:
        self._options = options
        self._blanks = blanks_of(options)
        stops = {"\r", "\n", options.delimiter, options.quote, options.escape or ""} - {""}
        self._stop = re.compile(f"[{re.escape(''.join(sorted(stops)))}]")
        within = {options.quote, options.escape or ""} - {""}
        self._stop_within = re.compile(f"[{re.escape(''.join(sorted(within)))}]") if within else self._stop

    def of(self, text: str) -> list[str | None]:
        """The fields of a message, None for NULL. One line break at its end is none of theirs. Raises Refused."""
        text = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
        if not text:
            raise Refused("csv.empty", "the value is empty")
        fields: list[str | None] = []
        at = 0
        while True:
            field, at = self._field(text, at, len(fields) + 1)
            fields.append(field)
            if at == len(text):
                return fields
            at += 1  # the delimiter

    def _field(self, text: str, at: int, number: int) -> tuple[str | None, int]:
        """A field, and where it ends: at a delimiter, or with the message."""
        start = self._past_blanks(text, at)
        if self._options.quote and text.startswith(self._options.quote, start):
            return self._quoted(text, start + 1, number)
        return self._bare(text, start, number)

    def _past_blanks(self, text: str, at: int) -> int:
        while at < len(text) and text[at] in self._blanks:
            at += 1
        return at

    def _bare(self, text: str, start: int, number: int) -> tuple[str | None, int]:
        at = start
        while (stop := self._stop.search(text, at)) is not None and stop[0] != self._options.delimiter:
            at = stop.start()
            if stop[0] in "\r\n":
                raise Refused("csv.line_break", f"field {number}: a line break outside quotes")
            if stop[0] != self._options.escape:
                raise Refused(
                    "csv.quote", f"field {number}: a quote within a field that does not begin with one"
                )
            at = self._escaped(text, at, number)
        end = len(text) if stop is None else stop.start()
        # an escaped blank at the end is one of the field's own
        kept = max(at, start + len(text[start:end].rstrip(self._blanks))) if self._blanks else end
        written = text[start:kept]
        return None if written == self._options.null_text else self._plain(written), end

    def _quoted(self, text: str, start: int, number: int) -> tuple[str, int]:
        """From behind the quote that opens it."""
        at = start
        while (stop := self._stop_within.search(text, at)) is not None:
            at = stop.start()
            if stop[0] == self._options.escape:
                at = self._escaped(text, at, number)
            elif self._options.escape is None and text.startswith(self._options.quote * 2, at):
                at += 2
            else:
                break
        if stop is None:
            raise Refused("csv.quote", f"field {number}: the quote is not closed")
        found = text[start:at]
        if self._options.escape is None:
            found = found.replace(self._options.quote * 2, self._options.quote)
        end = self._past_blanks(text, at + 1)
        if end < len(text) and text[end] != self._options.delimiter:
            raise Refused("csv.quote", f"field {number}: more text behind the closing quote")
        return self._plain(found), end

    def _escaped(self, text: str, at: int, number: int) -> int:
        """Past the escape at `at` and what it stands before."""
        if at + 1 == len(text):
            raise Refused("csv.escape", f"field {number}: ends with an escape")
        return at + 2

    def _plain(self, text: str) -> str:
        if self._options.escape is None or self._options.escape not in text:
            return text
        return re.sub(f"{re.escape(self._options.escape)}(.)", r"\1", text, flags=re.DOTALL)

"""The fields of a record in CSV, split by Python's own module."""

import csv
from collections.abc import Sequence

from kafka2hive.config.keys.source import CsvOptions


def can_split(options: CsvOptions) -> bool:
    """Return whether Python's module reads lines of this form: with a delimiter of one character, and blanks as they are."""
    return len(options.delimiter) == 1 and not options.trim


class CsvLine:
    """Splits records of one form."""

    def __init__(self, options: CsvOptions) -> None:
        self._options = options

    def fields(self, message: bytes) -> Sequence[str] | None:
        """Return the fields of a record; None if it is not one line of CSV."""
        options = self._options
        try:
            rows = list(
                csv.reader(
                    message.decode().splitlines(keepends=True),
                    delimiter=options.delimiter,
                    quotechar=options.quote or None,
                    quoting=csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
                    escapechar=options.escape,
                    doublequote=options.escape is None,
                )
            )
        except (ValueError, csv.Error):
            return None
        return rows[0] if len(rows) == 1 else None

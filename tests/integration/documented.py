"""The rows of docs/security.md where a user looks up what HDFS or Hive said: a message's words, its code and exit code."""

import re
from functools import cache

from tests.services.jars import ROOT


def exit_code(code: str, message: str) -> int:
    """As documented in the row whose words this message holds. Fails where there is none with this code."""
    found = [
        codes[code]
        for words, codes in _rows()
        if code in codes and any(word.search(message) for word in words)
    ]
    assert len(found) == 1, f"{len(found)} rows of docs/security.md are about [{code}] {message}"
    return found[0]


@cache
def _rows() -> list[tuple[list[re.Pattern[str]], dict[str, int]]]:
    text = (ROOT / "docs/security.md").read_text()
    table = text.partition("## What the errors of HDFS and Hive mean")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) >= 20
    return [
        (
            [re.compile(re.escape(word).replace(r"\.\.", ".*")) for word in re.findall(r"`([^`]+)`", words)],
            {code: int(number) for code, number in re.findall(r"`([\w.]+)` (\d+)", codes)},
        )
        for words, codes, *_ in rows
    ]

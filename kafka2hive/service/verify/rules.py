"""Search a table's files for rows that break a rule of the map whose breaks make dead letters."""

from collections import Counter

from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.files import UNREADABLE
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import Finding
from kafka2hive.service.verify.semantics.rules import RuleJudge

_BATCH_ROWS = 32_768


def rule_findings(reader: FileReader, path: str, judge: RuleJudge) -> list[Finding]:
    """Return a finding for each rule that rows of the file break. A file that cannot be read has no findings here."""
    columns = [name for name in judge.columns if name in reader.schema.names]
    wrong: Counter[str] = Counter()
    try:
        for batch in reader.batches(columns, _BATCH_ROWS) if columns else ():
            wrong += judge.broken(batch)
    except UNREADABLE:
        return []
    return [Finding("verify.rule", path, f"{counted(rows, 'row')} {text}") for text, rows in wrong.items()]

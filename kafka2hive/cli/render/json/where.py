"""The document of `where`."""

from collections.abc import Sequence

from kafka2hive.cli.render.json.document import Document, document
from kafka2hive.model.errors import ExitCode
from kafka2hive.service.where import FoundPlace


def where_document(service: str, place: str, found: Sequence[FoundPlace]) -> Document:
    """`where`: each table's answer; `epoch` null: the table does not hold the offset."""
    tables = [
        {
            "table": one.table,
            "answer": one.answer,
            "epoch": one.epoch,
            "files": [{"kind": f.kind.value, "path": f.final, "rows": f.rows} for f in one.files],
        }
        for one in found
    ]
    return document("where", ExitCode.DONE, service=service, place=place, tables=tables)

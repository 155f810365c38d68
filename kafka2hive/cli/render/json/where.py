"""The document of `where`."""

from kafka2hive.cli.render.json.document import Document, document
from kafka2hive.service.where import WhereResult


def where_document(service: str, place: str, result: WhereResult) -> Document:
    """`where`: each table's answer; `epoch` null: the table does not hold the offset."""
    tables = [
        {
            "table": found.table,
            "answer": found.answer,
            "epoch": found.epoch,
            "files": [{"kind": f.kind.value, "path": f.final, "rows": f.rows} for f in found.files],
        }
        for found in result.found
    ]
    return document("where", result.exit_code, service=service, place=place, tables=tables)

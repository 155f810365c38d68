"""The document of `verify`."""

from kafka2hive.cli.render.json.document import Document, document, error_of
from kafka2hive.service.audit.verified import VerifyResult


def verify_document(service: str, result: VerifyResult) -> Document:
    tables = [
        {
            "table": table.table,
            "epochs": table.epochs,
            "files": table.files,
            "rows": table.rows,
            "bytes": table.bytes,
            "findings": [{"code": f.code, "where": f.where, "message": f.message} for f in table.findings],
            "no_answer": list(table.no_answer),
            "not_checked": [*table.no_answer, *table.not_checked],
            "accepted": list(table.accepted),
            "notes": list(table.notes),
        }
        for table in result.tables
    ]
    errors = [{"table": table, **error_of(error)} for table, error in result.errors]
    return document("verify", result.exit_code, service=service, tables=tables, errors=errors)

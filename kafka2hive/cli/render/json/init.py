"""The document of `init`."""

from kafka2hive.cli.render.json.document import Document, document, error_of
from kafka2hive.service.shared.init_ledgers import InitResult


def init_document(service: str, result: InitResult) -> Document:
    tables = [
        {
            "table": table.table,
            "ledger": table.directory,
            "result": table.beginning.value.replace(" ", "_"),
            "error": error_of(table.error) if table.error else None,
        }
        for table in result.tables
    ]
    return document("init", result.exit_code, service=service, tables=tables)

"""The settings a table gets: columns from the map, or from Hive."""

from typing import Any, cast

import pytest

from kafka2hive.config.load import load_text
from kafka2hive.hive.port import Hive
from kafka2hive.model.layout import LedgerPaths
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.table_state import Table

MAP = """
service: s
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "file:///base"}
hive: {url: "hive://127.0.0.1:10000"}
tables:
  - table: air.films
    topics: [films]
    COLUMNS
    create: false
"""


class FakeHive:
    """Knows one table, and nothing else."""

    def __init__(self) -> None:
        self.session = self

    def run(self, *_: str) -> list[tuple[Any, ...]]:
        return [
            ("title", "string", ""),
            ("props", "struct<gross:bigint>", ""),
            ("# Detailed Table Information", None, None),
            ("Table Type:", "EXTERNAL_TABLE", None),
        ]


@pytest.mark.parametrize(("columns", "any_case"), [("", True), ("columns: {Title: string}", False)])
def test_the_case_of_keys_does_not_matter_where_names_come_from_hive(columns: str, any_case: bool) -> None:
    service_map = load_text(MAP.replace("COLUMNS", columns), "m", {})
    table = Table(service_map.tables[0], LedgerPaths("file:///ledger", "air.films"), ("films",), "file:///t")
    catalogue = Catalogue(service_map, cast("Hive", FakeHive()))
    settings = catalogue.resolve(table)
    assert catalogue.expected("air.films").bucket_path == table.rule.bucketing.path != ""
    assert settings.any_case is any_case
    assert settings.columns[0].name == ("title" if any_case else "Title")

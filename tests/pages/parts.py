"""Every file that is derived from declarations in the code, as a whole or in parts, and its text as it must be."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from kafka2hive.config.json_schema import SCHEMA_FILE, json_schema_text
from tests.dependencies import licences
from tests.pages.codes import error_tables, finding_table
from tests.pages.dashboard import dashboard
from tests.pages.frozen_documents import frozen_documents
from tests.pages.map_pages import map_pages
from tests.pages.metrics import metrics_table
from tests.pages.scheduler_files import scheduler_files
from tests.pages.semantic_types import semantic_types
from tests.pages.snapshot_lines import snapshot_lines
from tests.pages.standard_tests import standard_tests
from tests.pages.sums import sums

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

PARTS: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    **map_pages(DOCS),
    DOCS / "commands.md": {"findings": finding_table},
    DOCS / "decoding.md": semantic_types(),
    DOCS / "operations.md": {**error_tables(), "metrics": metrics_table},
    DOCS / "protocol.md": {"snapshot lines": snapshot_lines},
    DOCS / "schedulers.md": scheduler_files(ROOT / "configs" / "schedulers"),
    DOCS / "sizing.md": {"sums": sums},
    DOCS / "testing.md": {"standard tests": standard_tests},
}
"""By page: its parts, between `<!-- NAME -->` and `<!-- /NAME -->`."""


def derived_files() -> Mapping[Path, Callable[[], str]]:
    """Return for each file what it must hold."""
    return {
        **{page: partial(_with_parts, page, parts) for page, parts in PARTS.items()},
        ROOT / "configs" / SCHEMA_FILE: json_schema_text,
        ROOT / "configs" / "grafana" / "kafka2hive.json": dashboard,
        licences.PAGE: licences.page,
        **frozen_documents(),
    }


def _with_parts(page: Path, parts: Mapping[str, Callable[[], str]]) -> str:
    """Return the page with its parts up to date. Raises ValueError: a part has no place in it."""
    text = page.read_text()
    for name, part in parts.items():
        place = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->\n)", re.DOTALL)
        if len(place.findall(text)) != 1:
            raise ValueError(f"{page.name}: there must be one part <!-- {name} --> .. <!-- /{name} -->")
        text = place.sub(lambda found, part=part: f"{found[1]}\n{part()}\n{found[2]}", text)  # type: ignore[misc]
    return text

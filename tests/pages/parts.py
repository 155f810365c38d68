"""Which pages have generated parts, which files are generated as a whole, and their text as it must be."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.pages.dashboard import dashboard
from tests.pages.map_keys import key_tables
from tests.pages.snapshot_lines import snapshot_lines

DOCS = Path(__file__).parents[2] / "docs"

PAGES: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    DOCS / "configuration.md": key_tables(),
    DOCS / "protocol.md": {"snapshot lines": snapshot_lines},
}

DASHBOARD = DOCS.parent / "configs" / "grafana" / "kafka2hive.json"


def current(page: Path) -> str:
    """The file with all its generated parts up to date. Raises ValueError: a part has no place in it."""
    if page == DASHBOARD:
        return dashboard()
    text = page.read_text()
    for name, part in PAGES[page].items():
        place = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->\n)", re.DOTALL)
        if len(place.findall(text)) != 1:
            raise ValueError(f"{page.name}: there must be one part <!-- {name} --> .. <!-- /{name} -->")
        text = place.sub(lambda found, part=part: f"{found[1]}\n{part()}\n{found[2]}", text)  # type: ignore[misc]
    return text

"""The pages that explain the keys of the map: which one has a table of keys, and which one a heading that a key links to."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.pages.map_keys import key_tables

NAMES = ("configuration", "records", "columns", "change-logs", "partitions", "table-life", "counts")


def map_pages(docs: Path) -> Mapping[Path, Mapping[str, Callable[[], str]]]:
    """Return the tables of each page. Raises ValueError: a table has no page, or several."""
    texts = {docs / f"{name}.md": (docs / f"{name}.md").read_text() for name in NAMES}
    pages: dict[Path, dict[str, Callable[[], str]]] = {page: {} for page in texts}
    for name, table in key_tables().items():
        of_table = [page for page, text in texts.items() if f"<!-- {name} -->\n" in text]
        if len(of_table) != 1:
            raise ValueError(f"<!-- {name} --> must stand on one page of the map, not {len(of_table)}")
        pages[of_table[0]][name] = _with_links(table, of_table[0], texts)
    return pages


def _with_links(table: Callable[[], str], page: Path, texts: Mapping[Path, str]) -> Callable[[], str]:
    """A key links to a heading, wherever it stands; the page's table links to the page that has it."""

    def target(anchor: str) -> str:
        found = [place for place, text in texts.items() if anchor in _anchors(text)]
        if len(found) != 1:
            raise ValueError(f"#{anchor}: {len(found)} headings on the pages of the map")
        return f"#{anchor}" if found[0] == page else f"{found[0].name}#{anchor}"

    return lambda: re.sub(r"(?<=\]\()#([\w-]+)(?=\))", lambda link: target(link[1]), table())


def _anchors(text: str) -> set[str]:
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

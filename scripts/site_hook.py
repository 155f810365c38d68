"""Bring pages and files from outside of docs/ into the site, with their links.

mkdocs reads one directory only. README, CONTRIBUTING and CHANGELOG belong at the top of the repository, where readers
look for them, and the example maps into configs/, which the package installs.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
AS_TEXT = ("LICENSE", "SECURITY.md", "Dockerfile")  # without the suffix a browser would download them


def on_files(files: Files, config: Any) -> Files:
    """Add the top-level pages, and the linked files unchanged."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=_as_page((ROOT / source).read_text())))
    for name in AS_TEXT:
        files.append(File.generated(config, f"{name}.txt", content=(ROOT / name).read_text()))
    for path in sorted(p for p in (ROOT / "configs").rglob("*") if p.is_file()):
        files.append(File.generated(config, str(path.relative_to(ROOT)), content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links that leave docs/ into links within the site."""
    inside = "../" * page.file.src_uri.count("/")
    outside = re.escape(inside + "../")
    markdown = re.sub(
        rf"\]\({outside}(configs/|{'|'.join(map(re.escape, AS_TEXT))})", rf"]({inside}\1", markdown
    )
    for source, target in PAGES.items():
        markdown = re.sub(rf"\]\({outside}{re.escape(source)}", f"]({inside}{target}", markdown)
    return re.sub(rf"\]\(((?:\.\./)*)({'|'.join(map(re.escape, AS_TEXT))})\)", r"](\1\2.txt)", markdown)


def _as_page(text: str) -> str:
    """Return the text of a top-level page with the links that it has as a page of docs/."""
    text = text.replace("](docs/", "](")
    for source, page in PAGES.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text

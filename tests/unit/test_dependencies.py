"""The list of licences is that of the lock file, and a known vulnerability is told."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.dependencies import licences
from tests.dependencies.pinned import Package, packages_of
from tests.dependencies.vulnerabilities import check


def test_the_page_of_licences_is_that_of_the_lock_file() -> None:
    assert licences.PAGE.read_text() == licences.page(), "write it anew: scripts/dependencies licences"


def test_every_package_has_a_licence_that_an_apache_program_may_be_used_with() -> None:
    named = {package.name: licences.names_in(licences.licence_of(package)) for package in packages_of()}
    assert {name: found for name, found in named.items() if not licences.ALLOWED.issuperset(found)} == {}


def test_alternatives_and_sums_of_licences_are_told_apart() -> None:
    assert licences.names_in("MPL-2.0 AND (Apache-2.0 OR MIT)") == ["MPL-2.0", "Apache-2.0"]
    assert licences.names_in("GPL-3.0-only OR MIT") == ["MIT"] and licences.names_in("GPL-3.0-only") == [
        "GPL-3.0-only"
    ]


@contextmanager
def index(releases: dict[str, Any]) -> Iterator[str]:
    """A package index that knows these paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = releases.get(self.path)
            self.send_response(404 if known is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(known).encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: the output is the tests'."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(30)


def test_what_an_index_knows_against_a_version_is_told_and_silence_is_no_good_news(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = {"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fixed_in": ["2.0"], "summary": "reads beyond its end"}
    old = {"id": "PYSEC-2", "fixed_in": [], "withdrawn": "2026-01-01T00:00:00Z"}
    good, hit, unknown = Package("good", "1.0"), Package("hit", "1.0"), Package("unknown", "1.0")
    with index(
        {"/good/1.0/json": {"vulnerabilities": [old]}, "/hit/1.0/json": {"vulnerabilities": [bad]}}
    ) as url:
        assert check([good], url) == 0
        assert check([good, hit, unknown], url) == 1
        assert "hit 1.0: PYSEC-1, CVE-2026-1 (fixed in 2.0) reads beyond its end" in capsys.readouterr().out
        assert check([good, unknown], url) == 2
        assert "not told: unknown 1.0" in capsys.readouterr().out


def test_a_line_that_pins_nothing_is_told(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    lock.write_text("# text\na==1.0\nb>=2\n")
    with pytest.raises(ValueError, match="b>=2 pins no version"):
        packages_of(lock)

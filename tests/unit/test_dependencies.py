"""Every locked package has a licence that is allowed, and a known vulnerability is told."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.dependencies import bill, licences
from tests.dependencies.hashes import NoFile, is_installable, rewrite, with_hashes
from tests.dependencies.pinned import LOCKS, ROOT, Package, packages_of
from tests.dependencies.vulnerabilities import check


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


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_locked_package_has_the_hashes_of_its_files(lock: Path) -> None:
    """pip then refuses every other file, and each package without a hash."""
    lines = [
        line for line in lock.read_text().replace("\\\n", " ").splitlines() if "==" in line and line[0] != "#"
    ]
    assert len(lines) == len(packages_of(lock)) > 0
    assert [line for line in lines if not re.search(r"--hash=sha256:[0-9a-f]{64}", line)] == []


def test_hashes_of_files_that_can_be_installed_stand_behind_their_package() -> None:
    lock = "# text\na==1.0\n\nb==2 \\\n    --hash=sha256:old\n"
    files = {
        Package("a", "1.0"): [
            ("a-1.0-py3-none-any.whl", "2a"),
            ("a-1.0.tar.gz", "1a"),
            ("a-1.1.tar.gz", "3a"),
        ],
        Package("b", "2"): [("b-2-cp311-abi3-manylinux_2_28_x86_64.whl", "1b")],
    }
    written = (
        "# text\na==1.0 \\\n    --hash=sha256:1a \\\n    --hash=sha256:2a\n\nb==2 \\\n    --hash=sha256:1b\n"
    )
    assert with_hashes(lock, files.__getitem__) == written == with_hashes(written, files.__getitem__)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("x_y-1.0-cp312-cp312-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", True),
        ("x_y-1.0-cp38-abi3-macosx_11_0_arm64.whl", True),
        ("x_y-1.0-py2.py3-none-any.whl", True),
        ("x_y-1.0-py311-none-any.whl", True),
        ("x_y-1.0.tar.gz", True),
        ("x_y-1.0-cp310-cp310-manylinux_2_17_x86_64.whl", False),
        ("x_y-1.0-cp313-cp313t-manylinux_2_17_x86_64.whl", False),
        ("x_y-1.0-cp312-cp312-win_amd64.whl", False),
        ("x_y-1.0-cp312-cp312-manylinux_2_17_i686.whl", False),
        ("x_y-1.0.1-py3-none-any.whl", False),
        ("x_y-1.0.egg", False),
    ],
)
def test_only_files_for_supported_pythons_and_machines_can_be_installed(file: str, expected: bool) -> None:
    assert is_installable(file, "1.0") is expected


def test_no_lock_file_is_changed_if_the_index_lacks_a_package(tmp_path: Path) -> None:
    locks = [tmp_path / "one.lock", tmp_path / "two.lock"]
    for lock, name in zip(locks, ("known", "unknown"), strict=True):
        lock.write_text(f"{name}==1\n")
    with pytest.raises(NoFile, match="unknown 1"):
        rewrite(locks, lambda package: [("known-1.tar.gz", "0a")] if package.name == "known" else [])
    assert [lock.read_text() for lock in locks] == ["known==1\n", "unknown==1\n"]


def test_the_bill_of_materials_has_each_package_and_crate_with_licence_and_hash() -> None:
    told = bill.bill()
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    by_place: dict[str, list[dict[str, Any]]] = {"pypi": [], "cargo": [], "npm": []}
    for component in told["components"]:
        by_place[component["purl"].removeprefix("pkg:").partition("/")[0]].append(component)
    assert [(c["version"]) for c in by_place["pypi"]] == [package.version for package in packages_of()]
    assert all(c["externalReferences"][0]["hashes"] for c in by_place["pypi"])
    assert {c["name"] for c in by_place["cargo"]} >= {"pyo3", "libc"} and len(by_place["cargo"]) > 5
    assert all(len(c["hashes"][0]["content"]) == 64 for c in by_place["cargo"])
    assert all(c["licenses"] for c in told["components"])
    references = [component["bom-ref"] for component in told["components"]]
    assert len(set(references)) == len(references) and told["dependencies"][0]["dependsOn"] == references
    assert bill.bill() == told, "the same commit gives the same bill"


def test_crates_have_the_licences_that_the_bill_names() -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--offline", "--locked", "--manifest-path"]
    try:
        asked = subprocess.run([*command, ROOT / "native" / "Cargo.toml"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no cargo")
    if asked.returncode:
        pytest.skip("cargo has not fetched the crates of every platform")
    said = {
        each["name"]: each["license"].replace("/", " OR ") for each in json.loads(asked.stdout)["packages"]
    }
    named = {
        c["name"]: c["licenses"][0] for c in bill.bill()["components"] if c["purl"].startswith("pkg:cargo")
    }
    told = {name: each.get("expression") or each["license"]["id"] for name, each in named.items()}
    assert told == {name: licence for name, licence in said.items() if name in told}


def test_the_page_of_the_report_contains_the_libraries_that_the_bill_names() -> None:
    components = [c for c in bill.bill()["components"] if c["purl"].startswith("pkg:npm")]
    page = licences.page()
    assert all(c["version"] in page for c in components) and len(components) == 2

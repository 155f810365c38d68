"""`scripts/dependencies hashes`: behind each package of the lock files, the SHA-256 of every file that pip may install for it.

pip then installs no other file. The hashes come from the package index that pip is configured for, by pip's own client.
"""

import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version
from pip._internal.commands.install import InstallCommand
from pip._internal.index.collector import parse_links
from pip._internal.models.link import Link

from tests.dependencies.pinned import LOCKS, Package, lines_of, packages_of

PYTHONS = {f"cp3{minor}" for minor in range(11, 15)}
MACHINES = ("x86_64", "aarch64", "arm64", "universal2")
_ALGORITHM = "sha256"
Files = Callable[[Package], Iterable[tuple[str, str]]]
"""Yield names and SHA-256 of all files of a project, of every version."""


class NoFile(Exception):
    """The index has no file of a package that this program could install."""


def with_hashes(lock: str, files: Files) -> str:
    """Return the text of a lock file with the hashes of today. Raises NoFile."""
    return "".join(
        f"{line}\n" if isinstance(line, str) else _line(line, files(line)) for line in lines_of(lock)
    )


def _line(package: Package, files: Iterable[tuple[str, str]]) -> str:
    hashes = sorted({digest for name, digest in files if is_installable(name, package.version)})
    if not hashes:
        raise NoFile(f"{package.name} {package.version}: the index names no file with a hash")
    return (
        " \\\n".join(
            [f"{package.name}=={package.version}", *(f"    --hash={_ALGORITHM}:{each}" for each in hashes)]
        )
        + "\n"
    )


def is_installable(file: str, version: str) -> bool:
    """Say whether it is of this version, and a source archive or a wheel for a Python and a machine that we support."""
    try:
        _name, found, _build, tags = parse_wheel_filename(file)
    except (InvalidWheelFilename, ValueError):
        try:
            return parse_sdist_filename(file)[1] == Version(version)
        except InvalidSdistFilename:
            return False
    fits = any(_is_python(tag.interpreter, tag.abi) and _is_machine(tag.platform) for tag in tags)
    return found == Version(version) and fits


def _is_python(interpreter: str, abi: str) -> bool:
    if abi == "none":
        return interpreter.startswith(("py3", "cp3"))
    return abi == "abi3" or (interpreter in PYTHONS and abi == interpreter)


def _is_machine(platform: str) -> bool:
    return platform == "any" or (
        ("linux" in platform or "macosx" in platform) and platform.endswith(MACHINES)
    )


class Index:
    """The index that pip is configured for."""

    def __init__(self) -> None:
        self._command = InstallCommand("install", "the hashes of its files")
        options, _ = self._command.parse_args([])
        self._context = self._command.main_context()
        self._context.__enter__()
        session = self._command.get_default_session(options)
        finder = self._command._build_package_finder(options=options, session=session)
        self._collector = finder._link_collector

    def __call__(self, package: Package) -> Iterable[tuple[str, str]]:
        for url in self._collector.search_scope.get_index_urls_locations(package.name):
            page = self._collector.fetch_response(Link(url))
            for link in parse_links(page) if page is not None else ():
                if link.hash_name == _ALGORITHM and link.hash:
                    yield link.filename, link.hash


def rewrite(locks: Collection[Path], files: Files) -> None:
    """Write all files, or none: a package without a file raises before."""
    texts = {lock: with_hashes(lock.read_text(), files) for lock in locks}
    for lock, text in texts.items():
        lock.write_text(text)


def main() -> int:
    try:
        rewrite(LOCKS, Index())
    except NoFile as error:
        sys.stderr.write(f"{error}; no lock file was changed\n")
        return 1
    sys.stdout.write(f"{sum(len(packages_of(lock)) for lock in LOCKS)} packages\n")
    return 0

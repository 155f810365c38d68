"""`scripts/dependencies vulnerabilities`: what a package index knows against the pinned versions.

The JSON API of PyPI names vulnerabilities of each release; mirrors often leave it out.
"""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.error import URLError
from urllib.request import urlopen

from pip._internal.models.index import PyPI  # the only place that says where pip's own index is

from tests.dependencies.pinned import Package, packages_of

VARIABLE = "KAFKA2HIVE_PACKAGE_INDEX"
_SECONDS = 30.0


class NotTold(Exception):
    """The index says nothing of this release."""


@dataclass(frozen=True, slots=True)
class Vulnerability:
    package: Package
    names: tuple[str, ...]
    fixed_in: tuple[str, ...]
    summary: str

    def __str__(self) -> str:
        fixed = f"fixed in {', '.join(self.fixed_in)}" if self.fixed_in else "not fixed"
        return f"{self.package.name} {self.package.version}: {', '.join(self.names)} ({fixed}) {self.summary}".rstrip()


def known(package: Package, index: str) -> list[Vulnerability]:
    """Those that were not withdrawn. Raises NotTold."""
    try:
        with urlopen(f"{index}/{package.name}/{package.version}/json", timeout=_SECONDS) as answer:
            told = json.load(answer)["vulnerabilities"]
    except (URLError, ValueError, KeyError, TimeoutError) as error:
        raise NotTold(f"{package.name} {package.version}: {error}") from error
    return [
        Vulnerability(
            package,
            (str(one["id"]), *map(str, one.get("aliases") or ())),
            tuple(map(str, one.get("fixed_in") or ())),
            str(one.get("summary") or ""),
        )
        for one in told
        if not one.get("withdrawn")
    ]


def check(packages: Iterable[Package], index: str) -> int:
    """Exit code: 1 for a known vulnerability, 2 when the index did not answer for all and none is known, else 0."""
    found, silent, asked = 0, 0, 0
    for package in packages:
        asked += 1
        try:
            for vulnerability in known(package, index):
                found += 1
                sys.stdout.write(f"{vulnerability}\n")
        except NotTold as error:
            silent += 1
            sys.stdout.write(f"not told: {error}\n")
    sys.stdout.write(f"{asked} packages: {found} known vulnerabilities, {silent} not told by {index}\n")
    return 1 if found else 2 if silent else 0


def main() -> int:
    return check(packages_of(), os.environ.get(VARIABLE, PyPI.pypi_url))

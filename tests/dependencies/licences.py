"""docs/licences.md from what the installed packages say of themselves; `scripts/pages` writes it."""

import re
from importlib.metadata import distribution

from tests.dependencies.pinned import ROOT, Package, packages_of

PAGE = ROOT / "docs" / "licences.md"
# What a package says, as SPDX says it.
_SPELLINGS = (
    (r"apache.*2|apache software license|apache license", "Apache-2.0"),
    (r"^mit|mit license", "MIT"),
    (r"3-clause|bsd-3", "BSD-3-Clause"),
    (r"2-clause|bsd-2", "BSD-2-Clause"),
    (r"^bsd", "BSD"),
    (r"mozilla public license 2|mpl.?2", "MPL-2.0"),
    (r"isc", "ISC"),
    (r"python software foundation|psf", "PSF-2.0"),
    (r"^cc0", "CC0-1.0"),
)
# Their packages carry no licence; these are the ones in their repositories.
_SAID_ELSEWHERE = {"hdfs-native": "Apache-2.0"}
ALLOWED = frozenset(
    {"Apache-2.0", "MIT", "MIT-0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib", "PSF-2.0"}
    | {"MPL-2.0", "CC0-1.0", "Unlicense", "CNRI-Python"}
)
"""Licences of packages that an Apache-2.0 program may be used with, unchanged."""
_HEAD = """# Licences

This page is for whoever has to approve kafka2hive: the licence of every package that it runs with, direct and indirect.
kafka2hive itself is under the [Apache License 2.0](../LICENSE).
The versions are those of `requirements.lock`; `scripts/pages` writes this page.
The optional compiled library links PyO3, the crates that PyO3 uses and Rust's standard library (each MIT, or MIT OR Apache-2.0).
`scripts/dependencies bill` prints the same as CycloneDX, with hashes and the crates; each release has it as a file.
Some packages contain further libraries with their licences: confluent-kafka librdkafka, numpy OpenBLAS, pyspark Spark's JARs.
Pages of `report` contain Observable Plot 0.6.17 and d3 7.9.2 (ISC).

| package | version | licence |
|---|---|---|
"""


def licence_of(package: Package) -> str:
    """An SPDX expression. Raises PackageNotFoundError, ValueError where the package says nothing that is known."""
    metadata = distribution(package.name).metadata
    for expression in metadata.get_all("License-Expression") or ():
        return str(expression)
    classifiers = [c.rpartition(" :: ")[2] for c in metadata.get_all("Classifier") or () if "License ::" in c]
    for text in (*(metadata.get_all("License") or ()), *classifiers):
        first = text.strip().partition("\n")[0]
        for pattern, spdx in _SPELLINGS:
            if re.search(pattern, first, re.IGNORECASE):
                return spdx
    if package.name in _SAID_ELSEWHERE:
        return _SAID_ELSEWHERE[package.name]
    raise ValueError(f"{package.name} says no licence that is known here")


def names_in(expression: str) -> list[str]:
    """The licences of an SPDX expression that all hold; of alternatives the first that is allowed."""
    names: list[str] = []
    for part in re.sub(r"[()]", " ", expression).split(" AND "):
        choices = [choice.strip() for choice in part.split(" OR ")]
        names.append(next((choice for choice in choices if choice in ALLOWED), choices[0]))
    return names


def page() -> str:
    rows = [f"| {p.name} | {p.version} | {licence_of(p)} |\n" for p in packages_of()]
    return _HEAD + "".join(rows)

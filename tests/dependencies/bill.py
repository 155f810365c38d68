"""The bill of materials of a release, as CycloneDX: what kafka2hive and its compiled library run with, from the lock files."""

import json
import re
import subprocess
import sys
import tomllib
import uuid
from datetime import UTC, datetime
from typing import Any

from kafka2hive import __version__
from tests.dependencies.licences import licence_of
from tests.dependencies.pinned import ROOT, RUNTIME, packages_of

CRATES = ROOT / "native" / "Cargo.lock"
_PAGE_LIBRARIES = (("@observablehq/plot", "0.6.17"), ("d3", "7.9.2"))
"""What pages of `report` contain."""
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_USUAL = "MIT OR Apache-2.0"
OTHER_LICENCES = {
    "autocfg": "Apache-2.0 OR MIT",
    "memoffset": "MIT",
    "portable-atomic": "Apache-2.0 OR MIT",
    "target-lexicon": "Apache-2.0 WITH LLVM-exception",
    "unicode-ident": "(MIT OR Apache-2.0) AND Unicode-3.0",
}
"""Of crates; Cargo.lock names none. A test compares them with what the crates say."""
Component = dict[str, Any]


def bill() -> dict[str, Any]:
    """Return the document; the same commit gives the same one."""
    components = [*_packages(), *_crates(), *_of_pages()]
    committed = subprocess.run(
        ["git", "log", "-1", "--format=%H %ct"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    commit, seconds = committed.stdout.split()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, commit)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z"),
            "component": {
                **_component("application", "pypi", "kafka2hive", __version__, "Apache-2.0"),
                "bom-ref": "kafka2hive",
            },
        },
        "components": components,
        "dependencies": [{"ref": "kafka2hive", "dependsOn": [each["bom-ref"] for each in components]}],
    }


def _component(kind: str, place: str, name: str, version: str, licence: str) -> Component:
    address = f"pkg:{place}/{name.replace('@', '%40')}@{version}"
    told = {"expression": licence} if " " in licence else {"license": _licence(licence)}
    return {
        "type": kind,
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
        "licenses": [told],
    }


def _licence(name: str) -> dict[str, str]:
    """Return an SPDX id; `BSD` alone is a name, because its package says no more."""
    return {"name": name} if name == "BSD" else {"id": name}


def _packages() -> list[Component]:
    """Return the packages of Python, each with the hashes of all files that pip may install for it."""
    told = dict(re.findall(r"^([\w.-]+)==\S+ ((?:\\\n +--hash=\S+ ?)+)", RUNTIME.read_text(), re.MULTILINE))
    return [
        _component(
            "library", "pypi", re.sub("[-_.]+", "-", each.name).lower(), each.version, licence_of(each)
        )
        | {
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": f"pkg:pypi/{each.name}@{each.version}",
                    "hashes": [
                        {"alg": "SHA-256", "content": found} for found in _HASH.findall(told[each.name])
                    ],
                }
            ]
        }
        for each in packages_of()
    ]


def _crates() -> list[Component]:
    """Return the crates of the compiled library. A crate of this repository has no checksum, and is no part of its own."""
    locked = tomllib.loads(CRATES.read_text())["package"]
    return [
        _component(
            "library", "cargo", each["name"], each["version"], OTHER_LICENCES.get(each["name"], _USUAL)
        )
        | {"hashes": [{"alg": "SHA-256", "content": each["checksum"]}]}
        for each in locked
        if "checksum" in each
    ]


def _of_pages() -> list[Component]:
    return [_component("library", "npm", name, version, "ISC") for name, version in _PAGE_LIBRARIES]


def main() -> int:
    json.dump(bill(), sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0

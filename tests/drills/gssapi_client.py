"""The Kafka client with GSSAPI that `scripts/build-gssapi` builds: kept below `.cache/gssapi`, used by who puts it first."""

import os
import subprocess
import sys
from pathlib import Path

from tests.services.jars import CACHE, ROOT
from tests.services.secure.kdc import Kdc

_PREFIX = CACHE / "gssapi"
PACKAGE = _PREFIX / "python"
"""The folder of the built package, where there is one."""


def build() -> Path:
    """PACKAGE; unless it is there it is built, which takes minutes."""
    if not PACKAGE.exists():
        if not list((_PREFIX / "wheels").glob("*.whl")):
            subprocess.run([str(ROOT / "scripts/build-gssapi"), str(_PREFIX), sys.executable], check=True)
        (wheel,) = (_PREFIX / "wheels").glob("*.whl")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(PACKAGE)]
        subprocess.run([*install, str(wheel)], check=True)
    return PACKAGE


def environment(kdc: Kdc, folder: Path) -> dict[str, str]:
    """Of a service with this client: its `kinit` keeps the tickets in a file of this folder."""
    return {
        "PYTHONPATH": f"{PACKAGE}:{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        "KRB5_CONFIG": str(kdc.krb5_conf),
        "KRB5CCNAME": f"FILE:{folder}/tickets",
    }

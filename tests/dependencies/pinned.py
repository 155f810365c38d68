"""The packages of the lock files."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "requirements.lock"


@dataclass(frozen=True, slots=True, order=True)
class Package:
    name: str
    version: str


def packages_of(lock: Path = RUNTIME) -> list[Package]:
    """By name. Raises ValueError for a line that pins nothing."""
    lines = [line.strip() for line in lock.read_text().splitlines()]
    found = []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        name, pinned, version = line.partition("==")
        if not pinned:
            raise ValueError(f"{lock.name}: {line} pins no version")
        found.append(Package(name.strip(), version.split(";")[0].strip()))
    return sorted(found)

"""The packages of the lock files."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "requirements.lock"
SCHEDULERS = tuple(sorted((ROOT / "tests" / "schedulers").glob("*.lock")))
"""What `scripts/test-schedulers` installs, each in an environment of its own."""
LOCKS = (RUNTIME, ROOT / "requirements-demo.lock", ROOT / "requirements-dev.lock", *SCHEDULERS)


@dataclass(frozen=True, slots=True, order=True)
class Package:
    name: str
    version: str


def lines_of(lock: str) -> list[str | Package]:
    """Return the comments and blank lines of a lock file as they are, and its packages. Raises ValueError: one pins nothing."""
    lines: list[str | Package] = []
    for line in lock.replace("\\\n", " ").splitlines():
        requirement = line.partition("--hash=")[0].strip()
        if not requirement or requirement.startswith("#"):
            lines.append(line)
            continue
        name, pinned, version = requirement.partition("==")
        if not pinned:
            raise ValueError(f"{requirement} pins no version")
        lines.append(Package(name.strip(), version.strip()))
    return lines


def packages_of(lock: Path = RUNTIME) -> list[Package]:
    """Return them by name. Raises ValueError for a line that pins nothing."""
    return sorted(each for each in lines_of(lock.read_text()) if isinstance(each, Package))

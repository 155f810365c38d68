"""Where the schedulers are installed."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "configs" / "schedulers"


def environment(name: str) -> Path:
    """The virtual environment that `scripts/test-schedulers` makes from `<name>.lock`."""
    folder = ROOT / ".cache" / "schedulers" / name
    assert (folder / "COMPLETE").exists(), f"{name} is not installed; run: scripts/test-schedulers"
    return folder

"""Verdicts on generated mutants, kept while neither product nor tests change: an interrupted run of hours goes on."""

import hashlib
import json

from tests.mutants.generated import ROOT
from tests.mutants.patched_pytest import PRODUCT


class Journal:
    """A file of one line for each verdict; its name holds a digest of all the code."""

    def __init__(self, *, anew: bool = False) -> None:
        digest = hashlib.sha256()
        for path in sorted(path for folder in (PRODUCT, "tests") for path in (ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
        self._path = ROOT / ".cache" / f"mutants-{digest.hexdigest()[:12]}.jsonl"
        if anew:
            self._path.unlink(missing_ok=True)

    def verdicts(self) -> dict[str, str]:
        """By key: the test that caught it, "" for a survivor."""
        if not self._path.exists():
            return {}
        return dict(json.loads(line) for line in self._path.read_text().splitlines() if line.endswith("]"))

    def write(self, key: str, by: str) -> None:
        """Remember it."""
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps([key, by]) + "\n")

"""What `scripts/wheels` builds, in an environment that pip has installed nothing else into."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LIBRARY = "native/target/release/libkafka2hive_native.*"


@dataclass(frozen=True, slots=True)
class Release:
    """The files of a release."""

    folder: Path

    @property
    def wheel(self) -> Path:
        """The wheel of kafka2hive itself."""
        return self._only("kafka2hive-*.whl")

    @property
    def archive(self) -> Path:
        """Its sources."""
        return self._only("kafka2hive-*.tar.gz")

    @property
    def library(self) -> Path | None:
        """The wheel of the compiled library, if scripts/setup could build it here."""
        return self._only("kafka2hive_native-*.whl") if _is_library_built() else None

    def _only(self, pattern: str) -> Path:
        (path,) = self.folder.glob(pattern)
        return path


def build(folder: Path) -> Release:
    """Run `scripts/wheels`; without the compiled library if scripts/setup could not build it, for cargo takes minutes."""
    arguments = [] if _is_library_built() else ["--no-native"]
    subprocess.run([ROOT / "scripts" / "wheels", *arguments, folder], check=True, stdout=subprocess.DEVNULL)
    return Release(folder)


def _is_library_built() -> bool:
    return any(ROOT.glob(_LIBRARY))


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with a release, and a line that shows it the packages of the tests.

    Installing the 500 MB of packages again would take a minute and a network; `check` compares them with what the wheels ask
    for. This checkout is not on its path.
    """

    home: Path

    @classmethod
    def of(cls, release: Release, home: Path) -> "Environment":
        """Make it; `pip` must find nothing but the wheels."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
        environment = cls(home)
        wheels = [release.wheel, *([release.library] if release.library else [])]
        offline = ["--no-deps", "--no-index", "--no-compile", "--quiet", "--disable-pip-version-check"]
        environment._pip("install", *offline, *map(str, wheels))
        (site,) = home.glob("lib/python*/site-packages")
        (site / "packages_of_the_tests.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        return environment

    def check(self) -> str:
        """What pip says about the packages that the wheels ask for."""
        return self._pip("check", "--disable-pip-version-check")

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables of a user who has put the environment's programs on PATH."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KAFKA2HIVE"))
        }
        return {**kept, "PATH": f"{self.home / 'bin'}:{kept['PATH']}"}

    def run(self, *words: str | Path, cwd: Path, more: Mapping[str, str] | None = None) -> str:
        """Run a command to its end in `cwd`, and return what it printed. The test fails if its exit code is not 0."""
        variables = {**self.variables, **(more or {})}
        done = subprocess.run(
            words, cwd=cwd, env=variables, capture_output=True, text=True, timeout=1200, check=False
        )
        assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr[-5000:]}"
        return done.stdout

    def _pip(self, *arguments: str) -> str:
        words = [sys.executable, "-m", "pip", "--python", str(self.home / "bin" / "python"), *arguments]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout

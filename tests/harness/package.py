"""A small package of somebody else, installed into a directory of its own: what a build of it gives, without a build."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile


def install(
    folder: Path,
    site: Path,
    project: str,
    version: str,
    modules: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
) -> None:
    """Packs a wheel in `folder` and lets pip install it into `site`. `modules`: texts by file name; `entry_points` by group."""
    wheel = _wheel(folder, project, version, modules, entry_points)
    offline = ["--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", str(site), str(wheel)], check=True
    )


def _wheel(
    folder: Path,
    project: str,
    version: str,
    modules: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
) -> Path:
    name = project.replace("-", "_")
    info = f"{name}-{version}.dist-info"
    entries = "".join(
        f"[{group}]\n" + "".join(f"{entry} = {value}\n" for entry, value in named.items())
        for group, named in entry_points.items()
    )
    files = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": entries,
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with ZipFile(path, "w") as packed:
        for file, text in files.items():
            packed.writestr(file, text)
    return path

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


def lay_out(folder: Path, name: str, entries: str, module: str) -> None:
    """Write a package of one module as it lies in a site directory; `entries` are the lines of its entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)
    (folder / f"{name}.py").write_text(module)


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

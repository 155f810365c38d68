"""What a pack holds: this process's interpreter, its standard library, kafka2hive and the packages that it requires.

pyspark and py4j stay out: Spark sends its own to every node.
"""

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path

import kafka2hive
from kafka2hive.model.entry_points import PluginKind
from kafka2hive.model.errors import ConfigError

LIBRARY_FOLDER = "lib"
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_STANDARD_LIBRARY = f"{LIBRARY_FOLDER}/{_PYTHON}"
PACKAGES = f"{_STANDARD_LIBRARY}/site-packages"
INTERPRETER = f"bin/{_PYTHON}"
_OF_SPARK = frozenset({"pyspark", "py4j"})
_EXTRAS = ("native", "protobuf", "metastore", "zookeeper")
# folders of the standard library and of packages that no program imports
_NO_USE = frozenset(
    {
        "__pycache__",
        *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3"),
        *("site-packages", "dist-packages", "include"),
    }
)
# modules whose libraries would replace those of the nodes: terminals, data bases, NIS
_NO_MODULES = re.compile(r"(_tkinter|nis|_dbm|_gdbm|readline|_curses\w*|_test\w*|_xx\w*|xx\w*|ossaudiodev)\.")
_NO_SUFFIXES = frozenset({".pyc", ".a", ".pyx", ".pxd", ".pxi", ".h", ".hpp", ".c", ".cc"})
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_LINKED = re.compile(r"^\s+(\S+) => (\S+)", re.MULTILINE)
_OF_GLIBC = re.compile(r"(libc|libm|libdl|libpthread|librt|libutil|libresolv|ld-linux[\w-]*)\.so\.")


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file of a pack: its name in the archive, and where it is on this machine."""

    name: str
    source: Path


def pack_files() -> list[PackedFile]:
    """Return the files, sorted by name. Raises ConfigError (`pack.place`, `pack.package`, `pack.library`)."""
    home = Path(kafka2hive.__file__).parent
    if not sys.platform.startswith("linux"):
        raise _no_place(f"this is {sys.platform}", "run it on Linux, on the CPU of the cluster's nodes")
    if not home.is_dir():
        raise _no_place(f"kafka2hive is imported from an archive ({home})", "install it, and pack from there")
    files = {**_interpreter(), **_standard_library()}
    for package in packages():
        files |= _files_of_package(package)
    files |= {
        f"{PACKAGES}/{path.relative_to(home.parent)}": path
        for path in home.rglob("*")
        if path.is_file() and _is_used(path.relative_to(home.parent))
    }
    files |= _linked_libraries([path for name, path in files.items() if _is_binary_of_python(name)])
    return [PackedFile(name, files[name]) for name in sorted(files)]


def packages() -> list[Distribution]:
    """Return kafka2hive's distribution and all that it requires, with plug-ins, sorted by name.

    Raises ConfigError (`pack.package`) if a required one is not installed.
    """
    waiting: list[tuple[str, tuple[str, ...], bool]] = [("kafka2hive", _EXTRAS, True)]
    waiting += [(name, (), True) for name in _plugins()]
    known: dict[str, Distribution] = {}
    visited: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        name, extras, is_required = waiting.pop()
        if name in _OF_SPARK or (name, extras) in visited:
            continue
        visited.add((name, extras))
        try:
            known[name] = distribution(name)
        except PackageNotFoundError:
            if is_required:
                raise ConfigError(
                    "pack.package",
                    f"the package {name} is required and not installed in {sys.prefix}",
                    f"{sys.executable} -m pip install {name}",
                ) from None
            continue
        waiting += requirements(known[name].requires or (), extras)
    return [known[name] for name in sorted(known)]


def requirements(lines: Iterable[str], extras: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield the requirements that apply with these extras: the name, its extras, and whether it must be installed.

    A requirement with a marker (an extra, a version of Python) need not be installed.
    """
    chosen_extras = {_plain(extra) for extra in extras}
    for line in lines:
        requirement, _, marker = line.partition(";")
        of_extra = _EXTRA.search(marker)
        if of_extra and _plain(of_extra[1]) not in chosen_extras:
            continue
        if match := _REQUIREMENT.match(requirement):
            more = tuple(_plain(extra) for extra in (match[2] or "").split(",") if extra.strip())
            yield _plain(match[1]), more, not marker


def _plugins() -> list[str]:
    """Return the names of the packages with plug-ins."""
    points = [point for kind in PluginKind for point in entry_points(group=kind.value)]
    return sorted({_plain(point.dist.name) for point in points if point.dist is not None})


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _interpreter() -> dict[str, Path]:
    executable = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    files = {INTERPRETER: executable}
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        name = str(sysconfig.get_config_var("INSTSONAME"))
        files[f"{LIBRARY_FOLDER}/{name}"] = Path(str(sysconfig.get_config_var("LIBDIR")), name)
    for path in files.values():
        if not path.is_file():
            raise _no_place(f"Python has no file {path}", "install Python with its shared library")
    return files


def _standard_library() -> dict[str, Path]:
    home = Path(sysconfig.get_path("stdlib"))
    if not (home / "os.py").is_file():
        raise _no_place(f"Python's standard library is not a directory ({home})", "use another Python")
    files = {}
    for path in home.rglob("*"):
        within = path.relative_to(home)
        if path.is_file() and _is_used(within) and not within.parts[0].startswith("config-"):
            files[f"{_STANDARD_LIBRARY}/{within}"] = path
    return files


def _files_of_package(package: Distribution) -> Mapping[str, Path]:
    """Return the package's files within site-packages; only the metadata of kafka2hive, as it may be a checkout."""
    files = {}
    is_kafka2hive = _plain(package.metadata["Name"]) == "kafka2hive"
    for file in package.files or ():
        source = Path(str(package.locate_file(file)))
        is_metadata = file.parts[0].endswith(".dist-info")
        if (
            ".." in file.parts
            or (is_kafka2hive and not is_metadata)
            or file.name in ("direct_url.json", "RECORD")
        ):
            continue
        if source.is_file() and (is_metadata or _is_used(Path(*file.parts))):
            files[f"{PACKAGES}/{file}"] = source
    return files


def _is_used(within: Path) -> bool:
    return (
        not _NO_USE.intersection(within.parts[:-1])
        and within.suffix not in _NO_SUFFIXES
        and not (within.suffix == ".so" and _NO_MODULES.match(within.name))
    )


def _is_binary_of_python(name: str) -> bool:
    """Return whether it is the interpreter or a module of the standard library; packages bring their own libraries."""
    return name == INTERPRETER or (
        name.startswith(f"{_STANDARD_LIBRARY}/lib-dynload/") and name.endswith(".so")
    )


def _linked_libraries(binaries: list[Path]) -> dict[str, Path]:
    """Return the shared libraries that Python itself needs and that are not glibc's (OpenSSL, zlib, libffi)."""
    try:
        run = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise _no_place(f"ldd cannot be run: {error.strerror}", "pack on a Linux with glibc") from None
    files = {}
    for name, path in _LINKED.findall(run.stdout):
        if path == "not":
            raise ConfigError(
                "pack.library", f"Python needs the library {name}, which is not installed", "install it"
            )
        if not _OF_GLIBC.match(name):
            files[f"{LIBRARY_FOLDER}/{name}"] = Path(path).resolve()
    return files


def _no_place(reason: str, remedy: str) -> ConfigError:
    return ConfigError("pack.place", f"this environment cannot be packed: {reason}", remedy)

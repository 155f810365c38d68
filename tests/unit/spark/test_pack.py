"""A pack: what goes into it, what it refuses to be, and that its Python starts where it was unpacked."""

import gzip
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import kafka2hive
from kafka2hive import __version__
from kafka2hive.model.errors import ConfigError
from kafka2hive.submit.pack import bytecode, make_pack, read_pack
from kafka2hive.submit.pack_contents import (
    INTERPRETER,
    PACKAGES,
    PackedFile,
    pack_files,
    packages,
    requirements,
)

SMALL = "lib/python3.11/small.py"


@pytest.fixture
def contents(tmp_path: Path) -> list[PackedFile]:
    """A module, in place of a whole Python."""
    source = tmp_path / "small.py"
    source.write_text("x = 1\n")
    return [PackedFile(SMALL, source)]


def code_of(out: Path, contents: list[PackedFile] | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        make_pack(out, contents)
    assert refused.value.remedy
    return refused.value.code


def test_a_pack_holds_python_kafka2hive_and_what_it_requires_but_not_spark() -> None:
    names = {file.name for file in pack_files()}
    assert {
        INTERPRETER,
        f"{PACKAGES}/kafka2hive/cli/main.py",
        f"{PACKAGES}/pyarrow/__init__.py",
        f"{PACKAGES}/typer/__init__.py",
        f"{PACKAGES}/puresasl/__init__.py",
        f"lib/python{sys.version_info.major}.{sys.version_info.minor}/os.py",
    } <= names
    assert [name for name in names if name.startswith((f"{PACKAGES}/pyspark", f"{PACKAGES}/py4j"))] == []
    assert [name for name in names if name.startswith((f"{PACKAGES}/pytest", f"{PACKAGES}/mypy"))] == []
    assert [name for name in names if name.endswith((".pyc", ".a"))] == []
    assert [
        name for name in names if name.startswith("lib/libarrow")
    ] == []  # packages bring their own libraries


def test_its_packages_are_those_of_the_lock_file_except_what_people_look_at() -> None:
    lock = (Path(__file__).parents[3] / "requirements.lock").read_text()
    locked = {line.partition("==")[0].lower().replace("_", "-") for line in lock.splitlines() if "==" in line}
    packed = {str(package.metadata["Name"]).lower().replace("_", "-") for package in packages()}
    of_top = {"textual", "platformdirs", "mdit-py-plugins"}
    assert locked - packed == {"pyspark", "py4j"} | of_top


def test_requirements_apply_with_their_extras_only() -> None:
    lines = ["a>=1", "B_b[x,y]", 'c; extra == "native"', "d; extra == 'demo'", 'e; python_version < "3"']
    assert list(requirements(lines, ["native"])) == [
        ("a", (), True),
        ("b-b", ("x", "y"), True),
        ("c", (), False),
        ("e", (), False),
    ]


def test_a_pack_says_what_it_is_for_and_keeps_its_digest(tmp_path: Path, contents: list[PackedFile]) -> None:
    contents[0].source.write_bytes(b"\x7fELF GLIBC_2.4 GLIBC_2.28")
    first = make_pack(tmp_path / "first.tar.gz", contents)
    second = make_pack(tmp_path / "second.tgz", contents)
    pack = read_pack(first.file)
    assert pack == first.pack == second.pack
    assert (pack.kafka2hive, pack.python, pack.cpu) == (
        __version__,
        platform.python_version(),
        platform.machine(),
    )
    assert pack.glibc == "2.28"
    contents[0].source.write_text("x = 2\n")
    assert make_pack(tmp_path / "third.tar.gz", contents).pack.digest != pack.digest


def test_in_a_directory_its_name_has_the_digest(tmp_path: Path, contents: list[PackedFile]) -> None:
    folder = tmp_path / "packs"
    folder.mkdir()
    made = make_pack(folder, contents)
    assert made.pack.digest in made.file.name
    assert [path.name for path in folder.iterdir()] == [made.file.name]
    assert code_of(folder, contents) == "pack.exists"


def test_modules_are_compiled_and_never_compared_with_their_source(
    tmp_path: Path, contents: list[PackedFile]
) -> None:
    made = make_pack(tmp_path / "a.tar.gz", contents)
    with tarfile.open(made.file) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    source = tmp_path / "there" / SMALL
    source.write_text("x = 'compared'\n")
    code = f"import sys; sys.path.insert(0, {str(source.parent)!r}); import small; print(small.x)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "1\n"


def test_a_driver_in_a_pack_can_send_its_modules_as_a_zip(tmp_path: Path, contents: list[PackedFile]) -> None:
    """A zip holds no time before 1980, in no time zone."""
    with tarfile.open(make_pack(tmp_path / "a.tar.gz", contents).file) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as modules:
        modules.write(tmp_path / "there" / SMALL, "small.py")


def test_stale_bytecode_is_not_packed_and_what_is_no_python_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "m.py"
    source.write_text("x = 1\n")
    subprocess.run([sys.executable, "-m", "py_compile", str(source)], check=True)
    valid = bytecode(source, source.read_bytes())
    cached = Path(importlib.util.cache_from_source(str(source)))
    assert valid is not None and valid[16:] == cached.read_bytes()[16:]
    source.write_text("yy = 22222\n")
    fresh = bytecode(source, source.read_bytes())
    assert fresh is not None and b"yy" in fresh
    assert bytecode(source, b"print 'of Python 2'\n") is None


def test_an_output_that_exists_is_never_replaced(tmp_path: Path, contents: list[PackedFile]) -> None:
    out = tmp_path / "a.tar.gz"
    out.write_text("mine")
    assert code_of(out, contents) == "pack.exists"
    assert out.read_text() == "mine"


def test_spark_must_be_able_to_unpack_it(tmp_path: Path, contents: list[PackedFile]) -> None:
    assert code_of(tmp_path / "a.tar.zst", contents) == "pack.name"


def test_a_full_disk_is_told_and_nothing_is_left(tmp_path: Path, contents: list[PackedFile]) -> None:
    """The device that is always full takes the place of the file that is written."""
    (tmp_path / "a.tar.gz.part").symlink_to("/dev/full")
    assert code_of(tmp_path / "a.tar.gz", contents) == "pack.no_room"
    assert [path.name for path in tmp_path.iterdir()] == ["small.py"]


def test_a_directory_that_is_not_there_is_told(tmp_path: Path, contents: list[PackedFile]) -> None:
    assert code_of(tmp_path / "no/a.tar.gz", contents) == "pack.unwritable"


def test_a_kafka2hive_within_an_archive_cannot_be_packed(tmp_path: Path) -> None:
    """So it is in the containers of a cluster, to which the driver sends a zip."""
    package = Path(kafka2hive.__file__).parent
    shutil.make_archive(str(tmp_path / "k"), "zip", package.parent, package.name)
    program = "from kafka2hive.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "pack", str(tmp_path / "a.tar.gz")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "k.zip")},
    )
    assert (ran.returncode, "[pack.place]" in ran.stderr) == (78, True), ran.stderr


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"no tar" * 200, mtime=0)], ids=["empty", "text", "gzip"]
)
def test_what_is_no_pack_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.tar.gz"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        read_pack(file)
    assert refused.value.code == "pack.unreadable"
    assert str(file) in refused.value.message


def start(folder: Path, **commands: str) -> subprocess.CompletedProcess[str]:
    """Start an unpacked pack's Python on a node whose `uname` and `getconf` answer so."""
    tools = folder / "tools"
    tools.mkdir()
    for name, answer in commands.items():
        (tools / name).write_text(f"#!/bin/sh\necho {answer}\n")
        (tools / name).chmod(0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run([folder / "bin/python", "-V"], env=env, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("commands", "code", "words"),
    [
        ({"uname": "riscv64"}, "pack.cpu", "riscv64"),
        ({"getconf": "glibc 2.9"}, "pack.glibc", "2.9"),
    ],
)
def test_a_node_of_another_kind_is_told_at_the_start(
    tmp_path: Path, contents: list[PackedFile], commands: dict[str, str], code: str, words: str
) -> None:
    with tarfile.open(make_pack(tmp_path / "a.tar.gz", contents).file) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    ran = start(tmp_path / "there", **commands)
    assert ran.returncode == 78
    assert f"[{code}]" in ran.stderr and words in ran.stderr and "what to do: " in ran.stderr


def test_a_glibc_that_is_new_enough_is_accepted(tmp_path: Path, contents: list[PackedFile]) -> None:
    """2.100 is newer than 2.17; what lacks then is the interpreter, which this pack does not have."""
    with tarfile.open(make_pack(tmp_path / "a.tar.gz", contents).file) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    assert start(tmp_path / "there", getconf="glibc 2.100").returncode == 127


def test_the_description_is_the_first_member(tmp_path: Path, contents: list[PackedFile]) -> None:
    made = make_pack(tmp_path / "a.tar.gz", contents)
    with tarfile.open(made.file) as archive:
        first = archive.next()
        assert first is not None and first.name == "kafka2hive-pack.json"
        member = archive.extractfile(first)
        assert member is not None
        assert json.loads(member.read())["digest"] == made.pack.digest

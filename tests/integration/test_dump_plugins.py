"""The example of docs/plugins.md, installed as a package, dumps into Hive on real services, in files of its own."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import yaml

from tests.harness.program import PROGRAM, Finished, command_as_process
from tests.harness.service_map import location, write_map
from tests.oracle.tree import HdfsTree
from tests.services.produce import produce

if TYPE_CHECKING:
    from tests.services.hdfs import Hdfs
    from tests.services.hive_server import HiveServer
    from tests.services.kafka_broker import KafkaBroker

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()


def example(language: str) -> str:
    """The only block of this language in the document."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(block)


def wheel(folder: Path) -> Path:
    """What a build of the example gives: its module, its entry points, its metadata."""
    settings = tomllib.loads(example("toml"))
    project, modules = settings["project"], settings["tool"]["setuptools"]["py-modules"]
    name, version = project["name"].replace("-", "_"), project["version"]
    entries = "".join(
        f"[{group}]\n" + "".join(f"{entry} = {value}\n" for entry, value in named.items())
        for group, named in project["entry-points"].items()
    )
    info = f"{name}-{version}.dist-info"
    files = {
        f"{modules[0]}.py": example("python"),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": entries,
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with ZipFile(path, "w") as packed:
        for file, text in files.items():
            packed.writestr(file, text)
    return path


def install(folder: Path, site: Path) -> None:
    offline = ["--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", str(site), str(wheel(folder))]
    subprocess.run(command, check=True)


def test_the_documented_example_is_installed_and_dumps(
    kafka: "KafkaBroker", hdfs: "Hdfs", hive: "HiveServer", hive_database: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    install(tmp_path, site)
    (entry,) = yaml.safe_load(example("yaml"))
    name = f"{hive_database}.signals"
    entry |= {"table": name, "topics": [hive_database], "start": "earliest"}
    wrong = {**entry, "table": f"{hive_database}.wrong", "columns": {"plane": "string"}}
    messages = [f"N{n};{n % 80}.5;{n % 80 + 1}".encode() for n in range(500)]
    messages[7:7] = [b"N7;x", b"N8", b"\xff;1"]
    kafka.create_topic(hive_database, 2)
    produce(kafka.bootstrap, hive_database, messages, 2)
    uri = f"{hdfs.namenode_url}/{hive_database}"
    hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
    config = write_map(tmp_path, hive_database, kafka.bootstrap, uri, [entry], hive=hive_section)

    def call(command: str, *arguments: str) -> Finished:
        return command_as_process(command, config, *arguments, program=PROGRAM, env={"PYTHONPATH": path})

    path = os.environ.get("PYTHONPATH", "")
    refused = call("validate")
    assert refused.code == 78
    assert "no package offers signals in kafka2hive.decoders; installed here: none" in refused.log

    path = os.pathsep.join(filter(None, (str(site), path)))
    assert call("validate").code == 0
    # a table that the plug-in refuses is set aside; the other one is dumped
    config = write_map(tmp_path, hive_database, kafka.bootstrap, uri, [entry, wrong], hive=hive_section)
    run = call("run", "--once")
    assert run.code == 75, run.log[-3000:]
    assert "plugin.failed" in run.log and "columns are plane string, lat double" in run.log
    rows = hive.query(f"select plane, kafka_ordinal, lat, area from {name}")
    wanted = [
        (f"N{n}", place, lat, "north" if lat >= 40.65 else "south")
        for n in range(500)
        for place, lat in enumerate((n % 80 + 0.5, n % 80 + 1.0))
    ]
    assert sorted(rows) == sorted(wanted)
    dead = hive.query(f"select reason from {hive_database}.{hive_database}_dead_letters")
    assert dead == [("signals.number",)] * 2
    deep = call("verify", "--deep", "--table", name)
    assert deep.code == 0, deep.out + deep.log
    tree = HdfsTree(hdfs.client())
    lines = [
        line
        for path in tree.files(f"{location(uri, name)}")
        if path.endswith(".bars.final")
        for line in tree.read(path).splitlines()
    ]
    assert len(lines) == 1_000 and all(line.count(b"||") == 5 for line in lines)

"""The example of docs/plugins.md, installed as a package, dumps into Hive on real services, in files of its own."""

import os
import re
import tomllib
from pathlib import Path

import yaml

from tests.harness.package import install
from tests.harness.program import Finished, command_as_process, in_time
from tests.harness.service_map import location, write_map
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()


def example(language: str) -> str:
    """The only block of this language in the document."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(block)


def install_example(folder: Path, site: Path) -> None:
    settings = tomllib.loads(example("toml"))
    project = settings["project"]
    (module,) = settings["tool"]["setuptools"]["py-modules"]
    modules = {f"{module}.py": example("python")}
    install(folder, site, project["name"], project["version"], modules, project["entry-points"])


def test_the_documented_example_is_installed_and_dumps(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    install_example(tmp_path, site)
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
        return in_time(lambda: command_as_process(command, config, *arguments, env={"PYTHONPATH": path}))

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

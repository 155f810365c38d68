"""The class archive is found under the name of exactly this Java, Spark and class path, and is never harmful."""

import os
import shutil
from pathlib import Path

import pytest

from kafka2hive.config.keys import SparkOptions
from kafka2hive.spark.class_archive import (
    JAVA_OPTIONS,
    archive_options,
    archive_stem,
    cache_directory,
    finished_name,
    of_same_installation,
)
from kafka2hive.spark.configuration import session_conf

CONF = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")


@pytest.fixture(autouse=True)
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a Java and a Spark of the test, with an empty cache."""
    java, spark = tmp_path / "jdk", tmp_path / "spark"
    (java / "bin").mkdir(parents=True)
    (java / "bin/java").write_text("#!/bin/sh\n")
    (java / "bin/java").chmod(0o755)
    (java / "release").write_text('IMPLEMENTOR="A vendor"\nJAVA_VERSION="17.0.15"\n')
    (spark / "jars").mkdir(parents=True)
    (spark / "jars/spark-core.jar").write_bytes(b"1")
    monkeypatch.setenv("JAVA_HOME", str(java))
    monkeypatch.setenv("SPARK_HOME", str(spark))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in CONF:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def found(environment: dict[str, str] | None = None) -> Path:
    file = archive_stem(environment or {})
    assert file is not None
    return file


def make() -> Path:
    """Create an archive where a run looks for it."""
    file = finished_name(found(dict(os.environ)), len(b"classes"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"classes")
    file.chmod(0o444)
    return file


def test_the_name_says_which_spark_and_which_java_of_whom() -> None:
    assert "-java-17.0.15-A_vendor-" in found().name
    assert found().name.partition("-")[2].startswith("spark-4")


@pytest.mark.parametrize("change", ["jdk/release", "spark/jars/spark-core.jar", "spark/jars/another.jar"])
def test_another_java_or_other_jars_have_another_archive_of_the_same_installation(
    installation: Path, change: str
) -> None:
    former = make()
    with (installation / change).open("a") as file:
        file.write("JAVA_VERSION_DATE=2026\n")
    assert archive_options() == {}
    assert of_same_installation(make()) == [former]


@pytest.mark.parametrize("name", CONF)
def test_what_else_is_on_the_class_path_makes_it_another_installation(name: str) -> None:
    other = found({name: "/etc/conf"})
    assert other != found()
    assert other.name.partition("-")[0] != found().name.partition("-")[0]


def test_a_moved_spark_is_another_installation(installation: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    former = make()
    shutil.move(installation / "spark", installation / "moved")
    monkeypatch.setenv("SPARK_HOME", str(installation / "moved"))
    assert archive_options() == {}
    assert of_same_installation(make()) == []
    assert former.exists()


def test_without_a_java_that_tells_its_version_there_is_no_archive(installation: Path) -> None:
    (installation / "jdk/release").unlink()
    assert archive_stem({}) is None
    assert archive_options() == {}


def test_it_lies_in_the_cache_directory_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory({}) == tmp_path / ".cache/kafka2hive"
    assert cache_directory({"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache/kafka2hive"
    assert cache_directory({"XDG_CACHE_HOME": "/var/cache"}) == Path("/var/cache/kafka2hive")


def test_a_user_without_a_home_directory_has_no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "nowhere")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert archive_stem({}) is None
    assert archive_options() == {}


def test_the_driver_is_told_of_the_archive_and_the_map_wins(tmp_path: Path) -> None:
    assert JAVA_OPTIONS not in session_conf(SparkOptions(), "flights", tmp_path)
    file = make()
    conf = session_conf(SparkOptions(), "flights", tmp_path)
    assert f'"-XX:SharedArchiveFile={file}" -Xshare:auto' in conf[JAVA_OPTIONS]
    assert "SharedArchiveFile" not in conf["spark.driver.extraJavaOptions"]
    options = SparkOptions(conf=((JAVA_OPTIONS, "-Xshare:off"),))
    assert session_conf(options, "flights", tmp_path)[JAVA_OPTIONS] == "-Xshare:off"


@pytest.mark.parametrize("mode", [0o464, 0o446])
def test_an_archive_that_others_may_write_is_not_used(mode: int) -> None:
    make().chmod(mode)
    assert archive_options() == {}


@pytest.mark.parametrize("content", [b"", b"class", b"classes and more"])
def test_an_archive_of_another_length_than_it_was_made_with_is_not_used(content: bytes) -> None:
    file = make()
    assert archive_options() != {}
    file.chmod(0o644)
    file.write_bytes(content)
    assert archive_options() == {}


def test_a_directory_of_that_name_and_an_archive_half_made_are_no_archive() -> None:
    file = make()
    part = file.rename(file.with_suffix(".part"))
    assert archive_options() == {}
    assert of_same_installation(file) == []
    part.unlink()
    file.mkdir()
    assert archive_options() == {}

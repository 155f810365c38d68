"""Variables of another Spark and too low a limit of open files are named before a JVM fails because of them."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kafka2hive.model.errors import ConfigError
from kafka2hive.spark.environment import refuse_foreign, spark_version

INSTALLED = "4.3.0"


def spark_of(home: Path, number: str) -> dict[str, str]:
    (home / "jars").mkdir()
    (home / "jars" / f"spark-core_2.13-{number}.jar").touch()
    (home / "jars" / "spark-launcher_2.13-0.0.1.jar").touch()
    return {"SPARK_HOME": str(home)}


def test_a_spark_of_another_version_is_refused_with_its_path_and_both_versions(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        refuse_foreign(spark_of(tmp_path, "3.5.7"), INSTALLED)
    assert refused.value.code == "spark.home"
    for part in (str(tmp_path), "Spark 3.5.7", f"pyspark is {INSTALLED}"):
        assert part in refused.value.message


def test_a_spark_of_the_same_line_and_a_directory_without_jars_are_not_refused(tmp_path: Path) -> None:
    refuse_foreign(spark_of(tmp_path, "4.3.1"), INSTALLED)
    refuse_foreign({"SPARK_HOME": str(tmp_path / "none")}, INSTALLED)
    refuse_foreign({"PYSPARK_SUBMIT_ARGS": ""}, INSTALLED)
    assert spark_version(tmp_path / "none") is None


def test_arguments_for_another_spark_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        refuse_foreign({"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"}, INSTALLED)
    assert refused.value.code == "spark.submit_args" and "--master yarn" in refused.value.message


def limits_of(soft: int, hard: int) -> str:
    """Return what a process with these limits of open files prints."""
    program = (
        "import resource\nfrom kafka2hive.spark.environment import allow_open_files\n"
        "try:\n    allow_open_files()\n    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
        "except Exception as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
    )
    return done.stdout.strip()


def test_a_low_soft_limit_is_raised_and_a_low_hard_limit_is_named_with_the_number_needed() -> None:
    assert limits_of(256, 2_000) == "2000"
    assert limits_of(256, 4_097) == "4096"
    assert limits_of(4_097, 4_097) == "4097"
    text = limits_of(256, 256)
    assert "[spark.open_files]" in text and "may open 256 files" in text and "at least 512" in text

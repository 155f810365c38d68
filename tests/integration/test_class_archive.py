"""The class archive with a real Java: a session takes its classes from it; one that does not fit changes and says nothing."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from kafka2hive.spark.archive_maker import make_archive
from kafka2hive.spark.class_archive import use_option
from tests.services.jars import java

SHARED = "source: shared objects file (top)"
SESSION = """
import sys
from pathlib import Path
from kafka2hive.config.keys import SparkOptions
from kafka2hive.spark.session import end_jvm, start_session, stop_session
from kafka2hive.spark.jvm import launch

options = SparkOptions("local[1]", (("spark.driver.extraJavaOptions", "-Xlog:class+load:file=" + sys.argv[2]),))
spark = start_session(options, "archive", Path(sys.argv[1]), launch(options, "archive").connect())
print(spark.sparkContext.parallelize([6, 7], 1).map(lambda x: x + 1).collect())
print([name for name in ("numpy", "pandas", "pyarrow") if name in sys.modules])
stop_session(spark)
end_jvm(120)
"""


@pytest.fixture(scope="module")
def archive() -> Path:
    """The one that `scripts/setup` made, or that is made now."""
    return make_archive()[0]


def test_a_session_takes_its_classes_from_the_archive_and_heeds_the_options_of_the_map(
    tmp_path: Path, archive: Path
) -> None:
    cache = tmp_path / "a cache/kafka2hive"
    cache.mkdir(parents=True)
    shutil.copy(archive, cache)
    printed = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path), str(tmp_path / "classes")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=600,
        env={**os.environ, "XDG_CACHE_HOME": str(cache.parent)},
    ).stdout
    assert printed == "[7, 8]\n[]\n", "the driver needs neither numpy nor Arrow"
    classes = (tmp_path / "classes").read_text()
    assert classes.count(SHARED) > 5_000
    assert "SparkSessionExtensionsProvider" not in classes, "MLlib's functions cost a second"


def of_another_java(archive: bytes) -> bytes:
    """Its header names the build of the JVM that wrote it."""
    begin = archive.index(b"OpenJDK 64-Bit Server VM")
    return archive[:begin] + b"An" + archive[begin + 2 :]


@pytest.mark.parametrize(
    ("unfit", "class_path"),
    [
        (lambda _: b"", "jars/*"),
        (lambda _: b"no archive", "jars/*"),
        (of_another_java, "jars/*"),
        (lambda archive: archive, "nothing"),
    ],
    ids=["empty", "other bytes", "another Java", "other jars"],
)
def test_java_says_nothing_of_an_archive_that_does_not_fit(
    tmp_path: Path, archive: Path, unfit: Callable[[bytes], bytes], class_path: str
) -> None:
    file = tmp_path / "unfit.jsa"
    file.write_bytes(unfit(archive.read_bytes()))
    file.chmod(0o444)
    spark = Path(pyspark.__file__).parent

    def version(*options: str) -> str:
        return subprocess.run(
            [java(), *options, "-cp", f"{spark}/conf:{spark}/{class_path}", "-version"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
            timeout=600,
        ).stdout

    assert version(*shlex.split(use_option(file))).replace(", sharing", "") == version("-Xshare:off")

"""The non-public parts of pyspark are in one module, and a version that lacks one is refused by its name."""

import re
from pathlib import Path

import pytest

import kafka2hive
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.spark.internals import require_parts

HOME = Path(kafka2hive.__file__).parent
PRIVATE = re.compile(
    r"(?<!self)\._(?:jvm|jsc|jdf|jsparkSession|gateway|active_spark_context|instantiatedSession|accumulatorServer)\b"
    r"|(?:from|import) pyspark\.(?:daemon|worker|java_gateway|cloudpickle|sql\.pandas\.types|serializers|util)\b"
    r"|INPUT_CONVERTER|PYSPARK_GATEWAY|_PYSPARK_DRIVER_CONN|PythonGatewayServer|SPARK_CONNECT_MODE"
)


def test_the_installed_pyspark_has_every_part() -> None:
    require_parts()


@pytest.mark.parametrize(
    "part", ["pyspark:SparkContext._no_gateway", "pyspark.no_module:launch", "py4j.protocol:NO_CONVERTER"]
)
def test_a_missing_part_is_named_with_the_versions(part: str) -> None:
    with pytest.raises(
        ServiceUnavailable, match=rf"pyspark 4\S+ with py4j 0\S+ has no {re.escape(part)},"
    ) as lacking:
        require_parts((part,))
    assert lacking.value.code == "spark.version" and "pip install 'pyspark>=" in lacking.value.remedy


@pytest.mark.parametrize("part", ["pyspark.daemon:no_manager", "pyspark.no_module:main"])
def test_a_missing_part_of_workers_is_named(part: str) -> None:
    with pytest.raises(ServiceUnavailable, match=re.escape(part)):
        require_parts(worker_parts=(part,))


def test_a_missing_variable_of_the_launch_is_named() -> None:
    with pytest.raises(ServiceUnavailable, match="has no PYSPARK_NO_PORT,"):
        require_parts(launch_variables=("PYSPARK_NO_PORT",))


def test_no_other_module_names_what_pyspark_does_not_promise() -> None:
    naming = {
        path.relative_to(HOME).as_posix() for path in HOME.rglob("*.py") if PRIVATE.search(path.read_text())
    }
    assert naming <= {"spark/internals.py"}

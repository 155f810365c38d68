"""A local Spark for commands that check or preview a SELECT: no cluster, one core, and no files are left."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka2hive.config.keys import ServiceMap, SparkOptions
from kafka2hive.spark.jvm import launched
from kafka2hive.spark.session import start_session, stop_session
from kafka2hive.sql.selects import Selects

_OF_SELECTS = ("spark.sql.", "spark.hadoop.")
"""Prefixes of the properties that affect a SELECT or the reading of a lookup; the others concern the cluster."""


@contextmanager
def local_selects(service_map: ServiceMap) -> Iterator[Selects]:
    """Yield the SELECTs of a local Spark. Raises ServiceUnavailable (`spark.start`) if Spark does not start."""
    conf = tuple((key, value) for key, value in service_map.spark.conf if key.startswith(_OF_SELECTS))
    here = SparkOptions(master="local[1]", conf=conf)
    with (
        tempfile.TemporaryDirectory(prefix="kafka2hive-", ignore_cleanup_errors=True) as scratch,
        launched(here, service_map.service) as jvm,
    ):
        spark = start_session(here, service_map.service, Path(scratch), jvm.connect())
        try:
            yield Selects(spark, service_map.storage)
        finally:
            stop_session(spark)

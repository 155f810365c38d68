"""Spark as every peer that is made of it uses it: one process, the same codec and time zone."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from tests.benchmarks.peers.shape import ZSTD_LEVEL


def local_session(parallelism: int, folder: Path, options: Mapping[str, str]) -> SparkSession:
    """Spark in this process; `folder` is for its own files."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master(f"local[{parallelism}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", (folder / "warehouse").as_uri())
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.compression.codec", "zstd")
        .config("spark.hadoop.parquet.compression.codec.zstd.level", str(ZSTD_LEVEL))
        .config("spark.hadoop.dfs.replication", "1")
    )
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()

"""The rewrite of a partition's small files as a few large ones that people write in Spark: read, coalesce, write.

    python -m tests.benchmarks.peers.spark_rewrite --input URI --output URI --files N --folder DIR --parallelism 2

`coalesce` moves no row between tasks, which is the cheapest way. Times are written as microseconds, because Spark's own
INT96 costs more.
"""

import argparse
from pathlib import Path

from tests.benchmarks.peers.spark_session import local_session


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="full URI of the partition's directory")
    parser.add_argument("--output", required=True, help="full URI of a new directory")
    parser.add_argument("--files", required=True, type=int, help="number of files to write")
    parser.add_argument("--folder", required=True, type=Path, help="local directory for Spark's own files")
    parser.add_argument("--parallelism", type=int, default=2)
    said = parser.parse_args()
    options = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
    spark = local_session(said.parallelism, said.folder.resolve(), options)
    spark.read.parquet(said.input).coalesce(said.files).write.parquet(said.output)
    spark.stop()


if __name__ == "__main__":
    main()

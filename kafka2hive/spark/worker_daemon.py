"""pyspark's daemon of Python workers, which has imported what a task needs before it forks them.

Spark starts it as `python -m kafka2hive.spark.worker_daemon pyspark.worker` (`spark.python.daemon.module`), for local masters
only: on a cluster our package comes with the tasks, after the daemon's start.
A fork copies one thread alone: what is imported here must start none, and no client of Kafka or HDFS may exist.
"""

import gc
import os
import sys

# Spark puts its pyspark.zip first, which holds sources alone: compiling them takes a second. The installed one comes first here.
sys.path.sort(key=lambda place: place.endswith(".zip"))
# Arrow's own pools keep what they freed for longer: 30 MB more for each worker, and no faster.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# pyarrow and numpy would start a thread each: pyarrow for a pool that is not in use.
os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import kafka2hive.task.run  # noqa: F401  # for its side effect: it is in memory then
from kafka2hive.spark.internals import worker_daemon
from kafka2hive.spark.pandas_import import leave_pandas_out

manager = worker_daemon()
leave_pandas_out()

if __name__ == "__main__":
    gc.freeze()  # pyspark looks for cycles after each task: not in what was imported
    manager()

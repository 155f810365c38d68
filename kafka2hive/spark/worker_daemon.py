"""pyspark's daemon of Python workers, which imports a task's modules before it forks workers.

Spark starts it as `python -m kafka2hive.spark.worker_daemon pyspark.worker` (`spark.python.daemon.module`), for local masters
only: on a cluster this package arrives with the tasks, after the daemon's start.
A fork copies only one thread: these imports must not start threads, and no client of Kafka or HDFS may exist.
"""

import gc
import os
import sys

# Spark puts its pyspark.zip first, whose sources take a second to compile; this puts the installed pyspark first.
sys.path.sort(key=lambda place: place.endswith(".zip"))
# Arrow's own pools keep freed memory for longer, which takes 30 MB more per worker and is no faster.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# otherwise pyarrow (for an unused pool) and numpy each start a thread.
os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy.ma  # noqa: F401  # pyarrow asks it about the first array

import kafka2hive.task.run  # noqa: F401  # for its side effect: it is in memory then
from kafka2hive.spark.internals import worker_daemon
from kafka2hive.spark.pandas_import import leave_pandas_out

manager = worker_daemon()
leave_pandas_out()

if __name__ == "__main__":
    gc.freeze()  # pyspark collects cycles after each task; this excludes the imported modules
    manager()

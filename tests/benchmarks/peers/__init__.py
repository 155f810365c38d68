"""Other ways to get a topic into partitioned Parquet files, each a process with the same command line.

    python -m tests.benchmarks.peers.spark_foreach_batch --bootstrap H:P --topic T --output URI --shape FILE --checkpoint DIR
    python -m tests.benchmarks.peers.spark_file_sink     ...
    python -m tests.benchmarks.peers.flink               ...

`--once` (the default) reads what the topic holds now and ends with 0; `--continuous SECONDS` goes on until it is
killed, with a trigger or checkpoint that often; started again with the same `--checkpoint` it goes on where it stood.
The shape (`tests/benchmarks/peers/shape.py`) says which columns the JSON has and how rows are partitioned. Each is set up as
well as we know how, so that being faster means something.

`bare_loop` is a program in Rust that the benchmark builds with cargo; if it only fetches, it is the limit.
"""

"""What five rules cost on flights: `python -m tests.benchmarks.rules_speed [PAIRS]`.

The decoder of a task's chunks runs in turns with and without rules, on one thread; each pair gives a ratio of CPU-seconds, so a
busy machine disturbs both sides. Every flight obeys the rules; `--bad` lets one of 100 break one.
"""

import argparse
import statistics
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys.column_rules import ColumnRules
from kafka2hive.config.keys.columns import Column
from kafka2hive.task.chunk_decoder import ChunkDecoder
from kafka2hive.task.dead_letters import StoredLetters
from kafka2hive.task.fetch.chunk import Chunk, Segment
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.harness.task_files import offsets, table_settings
from tests.services.flights import flights

RECORDS = 10_000
RULES = {
    "month": ColumnRules(least="1", most="12"),
    "carrier": ColumnRules(required=True),
    "origin": ColumnRules(values=("JFK", "LGA", "EWR")),
    "dest": ColumnRules(pattern="[A-Z]{3}"),
}


def chunk_of(values: list[bytes]) -> Chunk:
    times = pa.array(np.arange(len(values)), pa.timestamp("us"))
    records = pa.table(
        {"value": pa.array(values, pa.binary()), "offset": np.arange(len(values)), "timestamp": times}
    )
    size = sum(map(len, values))
    segment = Segment(offsets("flights", 0, 0, len(values)), len(values), size, -1)
    return Chunk("db.t", (segment,), StoredLetters(records))


def seconds(decoder: ChunkDecoder, chunk: Chunk) -> float:
    start = time.process_time()
    for _ in range(5):
        for _ in decoder.decode(chunk):
            pass
    return time.process_time() - start


def main() -> None:
    pa.set_cpu_count(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=int, nargs="?", default=40)
    parser.add_argument("--bad", action="store_true")
    options = parser.parse_args()
    values = list(flights()[:RECORDS])
    if options.bad:
        values[::100] = [value.replace(b'"month":1', b'"month":13', 1) for value in values[::100]]
    columns = DATA_SETS["flights"].shape.columns
    plain = table_settings("db.t", "json", columns.items())
    ruled = replace(
        plain,
        columns=tuple(Column(n, kind, rules=RULES.get(n, ColumnRules())) for n, kind in columns.items()),
    )
    chunk = chunk_of(values)
    without, within = ChunkDecoder(plain), ChunkDecoder(ruled)
    ratios, speeds = [], []
    for _ in range(options.pairs):
        before, after = seconds(without, chunk), seconds(within, chunk)
        ratios.append(after / before)
        speeds.append(5 * chunk.value_bytes / before / 1e6)
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(  # noqa: T201  a report
        f"decoding with five rules: {middle:.3f} of the CPU without ({low:.3f} to {high:.3f}, {len(ratios)} pairs)"
    )
    print(f"without rules: {statistics.median(speeds):.0f} MB per CPU-second")  # noqa: T201  the same


if __name__ == "__main__":
    main()

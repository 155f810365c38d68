"""How fast one task is: MB of values per CPU-second of run_task on a local directory, beside the same libraries bare.

Run: python -m tests.benchmarks.task_speed [--copies N] [--rounds N] [--shape flights|scattered|raw] [--profile]
     python -m tests.benchmarks.task_speed --clients ...   each round by the Python and by the compiled client, in turns
A real broker is started and filled first. CPU is that of this process with all its threads (librdkafka's and Arrow's),
the broker's is not counted. `bare` does nothing but consume, decode with the same decoder, and write one file.
"""

import argparse
import cProfile
import json
import pstats
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.config.keys import Bucketing, StorageOptions, TableSettings
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.plan.contract import TableManifest, TaskPlan, TaskSettings
from kafka2hive.task import run_task
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.consumer import PythonClient, TaskConsumer, process_consumer
from kafka2hive.task.fetch.delivery_count import CountedConsumer
from kafka2hive.task.fetch.fetch import Fetch, RangeRequest
from kafka2hive.task.fetch.native import NativeClient
from kafka2hive.task.run import process_files, rare_garbage_collection
from kafka2hive.task.watchdog import Watchdog
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.harness.task_files import offsets, table_settings, table_task, task_of, task_settings
from tests.services.flights import COUNT, flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

TOPIC = "flights"
PARTITIONS = 4
COLUMNS = tuple(DATA_SETS["flights"].shape.columns.items())
BY_MONTH = Bucketing("dt=%Y-%m", field="time_hour")
SCATTERED = Bucketing("hr=%H/carrier={carrier}", field="time_hour")  # ~300 buckets at once


@dataclass(frozen=True, slots=True)
class Round:
    """`megabytes` of values (10^6 bytes), seconds of wall clock and CPU, bytes of the files."""

    megabytes: float
    wall: float
    cpu: float
    file_bytes: int

    @property
    def speed(self) -> float:
        return self.megabytes / self.cpu


def table_of(shape: str) -> TableSettings:
    if shape == "raw":
        return table_settings("db.t", "raw", (("value", "binary"),))
    return table_settings("db.t", "json", COLUMNS, (), SCATTERED if shape == "scattered" else BY_MONTH)


def fill(broker: KafkaBroker, copies: int) -> tuple[OffsetRange, ...]:
    """All flights `copies` times over, in order of time within each copy and topic partition."""
    broker.create_topic(TOPIC, partitions=PARTITIONS)
    for _ in range(copies):
        produce(broker.bootstrap, TOPIC, flights(), PARTITIONS)
    each, rest = divmod(COUNT, PARTITIONS)
    return tuple(offsets(TOPIC, n, 0, copies * (each + (n < rest))) for n in range(PARTITIONS))


def measured(work: Callable[[], tuple[int, int]]) -> Round:
    """`work` gives bytes of values and bytes of files."""
    wall, cpu = time.perf_counter(), time.process_time()
    read, written = work()
    return Round(read / 1e6, time.perf_counter() - wall, time.process_time() - cpu, written)


def task_round(
    settings: TaskSettings,
    ranges: tuple[OffsetRange, ...],
    manifests: list[TableManifest],
    consumer: TaskConsumer | None = None,
) -> Round:
    """`consumer` None: the one that this process keeps."""

    def work() -> tuple[int, int]:
        plan = TaskPlan(0, (table_task("db.t", *ranges),))
        if consumer is None:
            (manifest,) = run_task(plan, settings)
        else:
            with rare_garbage_collection(), Watchdog(settings.stall_seconds) as watchdog:
                task = task_of(plan, settings, process_files(settings.storage), consumer, watchdog)
                (manifest,) = task.run()
        assert manifest.failure is None, manifest.failure
        manifests.append(manifest)
        assert sum(file.rows for file in manifest.files) == sum(map(len, ranges))
        return sum(a.account.bytes for a in manifest.accounts), sum(file.length for file in manifest.files)

    return measured(work)


def bare_round(
    settings: TaskSettings, table: TableSettings, ranges: tuple[OffsetRange, ...], file: Path
) -> Round:
    def work() -> tuple[int, int]:
        schema = pa.schema([(column.name, parse_hive_type(column.type)) for column in table.columns])
        decoder = make_decoder(DecoderSpec(table.format, schema, "UTC"))
        consumer = CountedConsumer(process_consumer(settings.kafka))
        consumer.expect(ranges)
        fetch = Fetch(consumer, [RangeRequest("db.t", r) for r in ranges], 60.0)
        read = 0
        with pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer:
            for batches, size in in_row_groups(fetch, decoder.decode):
                writer.write_table(pa.Table.from_batches(batches))
                read += size
        return read, file.stat().st_size

    return measured(work)


def in_row_groups(
    fetch: Fetch, decode: Callable[[pa.BinaryArray], object]
) -> Iterator[tuple[list[pa.RecordBatch], int]]:
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    for event in fetch:
        if not isinstance(event, Chunk):
            continue
        decoded = decode(event.values())
        batches.append(decoded.rows)  # type: ignore[attr-defined]
        rows += len(event)
        size += event.value_bytes
        if rows >= 200_000:
            yield batches, size
            batches, rows, size = [], 0, 0
    yield batches, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shape", choices=["flights", "scattered", "raw"], default="flights")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--clients", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="task-speed-"))
    try:
        with KafkaBroker(folder / "kafka") as broker:
            ranges = fill(broker, options.copies)
            report(broker.bootstrap, ranges, folder / "warehouse", options)
    finally:
        shutil.rmtree(folder)


def report(
    bootstrap: str, ranges: tuple[OffsetRange, ...], warehouse: Path, options: argparse.Namespace
) -> None:
    base = warehouse.as_uri()
    warehouse.mkdir()
    table = replace(table_of(options.shape), location=f"{base}/db.t")
    storage = StorageOptions(base, f"{base}/ledger", base)
    settings = replace(task_settings(bootstrap, table), storage=storage, dead_letter_location=f"{base}/dead")
    if options.clients:
        compare_clients(settings, ranges, options.rounds)
        return
    manifests: list[TableManifest] = []
    warm_up = tuple(OffsetRange(r.topic_partition, 0, 5_000) for r in ranges)
    task_round(settings, warm_up, manifests)
    bare_round(settings, table, warm_up, warehouse / "bare")
    profile = cProfile.Profile()
    tasks, bares = [], []
    for _ in range(options.rounds):
        if options.profile:
            profile.enable()
        tasks.append(task_round(settings, ranges, manifests))
        profile.disable()
        bares.append(bare_round(settings, table, ranges, warehouse / "bare"))
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    task = statistics.median(r.speed for r in tasks)
    bare = statistics.median(r.speed for r in bares)
    figures = {
        "shape": options.shape,
        "records": sum(map(len, ranges)),
        "megabytes": round(tasks[0].megabytes, 1),
        "task_mb_per_cpu_second": round(task, 1),
        "bare_mb_per_cpu_second": round(bare, 1),
        "ratio": round(task / bare, 3),
        "task_wall_seconds": [round(r.wall, 2) for r in tasks],
        "task_cpu_seconds": [round(r.cpu, 2) for r in tasks],
        "bare_cpu_seconds": [round(r.cpu, 2) for r in bares],
        "files": len(manifests[-1].files),
        "file_megabytes": round(tasks[-1].file_bytes / 1e6, 2),
        "bare_file_megabytes": round(bares[-1].file_bytes / 1e6, 2),
        "phases": {name: round(seconds, 2) for name, seconds in manifests[-1].seconds},
    }
    print(json.dumps(figures, indent=2))  # noqa: T201  what the command is for


def compare_clients(settings: TaskSettings, ranges: tuple[OffsetRange, ...], rounds: int) -> None:
    """CPU of whole tasks per record by client; the first task of each is not counted."""
    clients: list[type[PythonClient | NativeClient]] = [PythonClient, NativeClient]
    micros: dict[str, list[float]] = {client.__name__: [] for client in clients}
    for number in range(rounds + 1):
        for client in clients if number % 2 else clients[::-1]:
            consumer = TaskConsumer(settings.kafka, client)
            round_ = task_round(settings, ranges, [], consumer)
            consumer.close()
            if number:
                micros[client.__name__].append(round_.cpu / sum(map(len, ranges)) * 1e6)
    ratios = [native / python for python, native in zip(*micros.values(), strict=True)]
    figures = {
        name: {"rounds": [round(m, 2) for m in each], "median": round(statistics.median(each), 3)}
        for name, each in micros.items()
    }
    ratio = round(statistics.median(ratios), 3)
    print(json.dumps({"micros_per_record": figures, "median_ratio": ratio}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()

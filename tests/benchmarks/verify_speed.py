"""How fast `verify --deep` is: rows per second of wall clock and of CPU, with all flights, on a local directory.

Run: python -m tests.benchmarks.verify_speed [--copies N] [--rounds N] [--tasks N] [--profile] [--no-places]
A real broker is started and filled first, and dumped without Spark. CPU is that of this process with all its threads.
"""

import argparse
import cProfile
import json
import pstats
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.service.audit.verified import VerifyOrder
from kafka2hive.service.audit.verify import verify
from kafka2hive.service.shared.tables import MapTables
from tests.harness.epochs import begin, dump, wiring_of
from tests.harness.service_map import flights_table, write_map
from tests.services.flights import flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

TABLE = "air.flights"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-places", action="store_true", help="a table that keeps no offsets: multisets")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="verify-speed-"))
    try:
        with KafkaBroker(folder / "kafka") as broker:
            broker.create_topic("flights", 4)
            for _ in range(options.copies):
                produce(broker.bootstrap, "flights", flights(), 4)
            report(folder, broker.bootstrap, options)
    finally:
        shutil.rmtree(folder)


def report(folder: Path, bootstrap: str, options: argparse.Namespace) -> None:
    (folder / "disk").mkdir()
    more = {"metadata": None} if options.no_places else {}
    table = flights_table(TABLE, "flights", **more)
    wiring = wiring_of(write_map(folder, "speed", bootstrap, f"file://{folder}/disk", [table]))
    begin(wiring, TABLE)
    dump(wiring, TABLE, tasks=options.tasks)
    walls, cpus = [], []
    profile = cProfile.Profile()
    for _ in range(options.rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        if options.profile:
            profile.enable()
        result = verify(
            wiring,
            VerifyOrder(deep=True),
            KafkaAdmin(wiring.map.kafka),
            None,
            MapTables(wiring, None).settings,
        )
        profile.disable()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        (found,) = result.tables
        assert result.exit_code == 0 and not found.not_checked, result
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    figures = {
        "rows": found.rows,
        "rows_per_wall_second": round(found.rows / statistics.median(walls)),
        "rows_per_cpu_second": round(found.rows / statistics.median(cpus)),
        "wall_seconds": [round(s, 2) for s in walls],
        "cpu_seconds": [round(s, 2) for s in cpus],
    }
    print(json.dumps(figures, indent=2))  # noqa: T201  what the command is for


if __name__ == "__main__":
    main()

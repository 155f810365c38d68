"""How fast `verify --deep` is: rows per second of wall clock and of CPU, with all flights, on a local directory.

Run: python -m tests.benchmarks.modes.verify [--copies N] [--rounds N] [--tasks N] [--profile] [--no-places]
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
from typing import Any

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.verify.result import VerifyRequest
from kafka2hive.service.verify.verify import verify
from kafka2hive.service.wiring import Wiring
from tests.benchmarks.aims import VERIFY, Rows
from tests.benchmarks.room import Room
from tests.harness.epochs import begin, dump, wiring_of
from tests.harness.service_map import flights_table, write_map
from tests.services.flights import flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

TABLE = "air.flights"
_TOPIC = "verified"
_COPIES, _ROUNDS, _TASKS = 4, 3, 2


def measure(room: Room) -> dict[str, Any]:
    """The median of the rounds."""
    wiring = dumped(room.kafka(), room.new_folder(), _COPIES, _TASKS)
    figures = verified(wiring, _ROUNDS)
    rows = Rows("verify")
    each = figures["rows_per_cpu_second"]
    rows.add(f"`verify --deep`, {figures['rows']:,} flights", f"{each:,} rows per CPU-s", each, VERIFY)
    room.kafka().delete_topic(_TOPIC)
    return {"rows": rows.made, "verified": figures}


def dumped(broker: KafkaBroker, folder: Path, copies: int, tasks: int, with_places: bool = True) -> Wiring:
    """A table of so many copies of all flights, on local disk. Without places a table keeps no offsets: multisets."""
    broker.create_topic(_TOPIC, 4)
    for _ in range(copies):
        produce(broker.bootstrap, _TOPIC, flights(), 4)
    (folder / "disk").mkdir()
    more = {} if with_places else {"metadata": None}
    table = flights_table(TABLE, _TOPIC, **more)
    wiring = wiring_of(write_map(folder, "speed", broker.bootstrap, f"file://{folder}/disk", [table]))
    begin(wiring, TABLE)
    dump(wiring, TABLE, tasks=tasks)
    return wiring


def verified(wiring: Wiring, rounds: int, profile: cProfile.Profile | None = None) -> dict[str, Any]:
    """What each of the rounds took. Raises AssertionError where anything is found."""
    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        if profile:
            profile.enable()
        result = verify(
            wiring,
            VerifyRequest(deep=True),
            KafkaAdmin(wiring.map.kafka),
            None,
            MapTables(wiring, None).settings,
        )
        if profile:
            profile.disable()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        (found,) = result.tables
        assert result.exit_code == 0 and not found.not_checked, result
    return {
        "rows": found.rows,
        "rows_per_wall_second": round(found.rows / statistics.median(walls)),
        "rows_per_cpu_second": round(found.rows / statistics.median(cpus)),
        "wall_seconds": [round(s, 2) for s in walls],
        "cpu_seconds": [round(s, 2) for s in cpus],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--copies", type=int, default=_COPIES)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--tasks", type=int, default=_TASKS)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-places", action="store_true", help="a table that keeps no offsets: multisets")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="verify-speed-"))
    profile = cProfile.Profile() if options.profile else None
    try:
        with KafkaBroker(folder / "kafka") as broker:
            wiring = dumped(broker, folder, options.copies, options.tasks, not options.no_places)
            figures = verified(wiring, options.rounds, profile)
    finally:
        shutil.rmtree(folder)
    if profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    print(json.dumps(figures, indent=2))  # noqa: T201  what the command is for


if __name__ == "__main__":
    main()

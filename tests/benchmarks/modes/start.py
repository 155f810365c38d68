"""How long commands take, on a table that rests: what a person waits for; and a `run --once` of a few records."""

import statistics
from typing import Any

from tests.benchmarks.aims import COMMAND, START, Aim, Rows
from tests.benchmarks.contestants import TABLE, Place, write_map
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.modes.commands import timed
from tests.benchmarks.room import Room
from tests.harness.epochs import begin, wiring_of
from tests.services.produce import produce

_TIMES = 7
_COMMANDS = {"validate": None, "status": COMMAND, "recover": COMMAND, "verify": COMMAND}
_RUNS = 3
_FEW = 8


def measure(room: Room) -> dict[str, Any]:
    """Medians of whole commands, on local disk and on HDFS, with a broker that answers."""
    room.kafka().create_topic("resting", 1)
    rows, seconds = Rows("start"), {}
    for where in ("local disk", "HDFS"):
        folder = room.new_folder()
        uri = folder.as_uri() if where == "local disk" else f"{room.hdfs().namenode_url}/{folder.name}"
        place = Place(folder, uri, room.kafka().bootstrap, "resting", DATA_SETS["flights"].shape)
        config = write_map(place)
        begin(wiring_of(config), TABLE)
        for command, aim in _COMMANDS.items():
            times = [timed(command, config=config) for _ in range(_TIMES)]
            seconds[f"{command}, {where}"] = times
            _add(rows, f"`{command}`, whole command, {where}", times, aim)
    seconds["run --once"] = _runs(room)
    _add(rows, f"`run --once`, {_FEW} records, local disk", seconds["run --once"], START)
    return {"rows": rows.made, "seconds": seconds}


def _add(rows: Rows, what: str, times: list[float], aim: Aim | None) -> None:
    middle = statistics.median(times)
    rows.add(what, f"{middle:.2f} s (worst of {len(times)}: {max(times):.2f} s)", middle, aim)


def _runs(room: Room) -> list[float]:
    """Each time a new ledger, the same few records."""
    data = DATA_SETS["flights"]
    room.kafka().create_topic("few", 1)
    produce(room.kafka().bootstrap, "few", data.records()[:_FEW], 1)
    times = []
    for _ in range(_RUNS):
        folder = room.new_folder()
        place = Place(folder, folder.as_uri(), room.kafka().bootstrap, "few", data.shape)
        times.append(timed("run", "--once", config=write_map(place)))
    return times

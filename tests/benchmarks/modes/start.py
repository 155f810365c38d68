"""How long the commands take that need no Spark, on a table that rests: what a person waits for."""

import statistics
from typing import Any

from tests.benchmarks.contestants import TABLE, Place, write_map
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.modes.commands import timed
from tests.benchmarks.room import Room
from tests.harness.epochs import begin, wiring_of

_TIMES = 7
_AIMS = {"validate": "", "status": "<= 0.5 s", "recover": "<= 0.5 s", "verify": "<= 0.5 s"}


def measure(room: Room) -> dict[str, Any]:
    """Medians of whole commands, on local disk and on HDFS, with a broker that answers."""
    room.kafka().create_topic("resting", 1)
    rows, seconds = [], {}
    for where in ("local disk", "HDFS"):
        folder = room.new_folder()
        uri = folder.as_uri() if where == "local disk" else f"{room.hdfs().namenode_url}/{folder.name}"
        place = Place(folder, uri, room.kafka().bootstrap, "resting", DATA_SETS["flights"].shape)
        config = write_map(place)
        begin(wiring_of(config), TABLE)
        for command, aim in _AIMS.items():
            times = [timed(command, config=config) for _ in range(_TIMES)]
            seconds[f"{command}, {where}"] = times
            text = f"{statistics.median(times):.2f} s (worst of {_TIMES}: {max(times):.2f} s)"
            rows.append({"what": f"`{command}`, whole command, {where}", "measured": text, "aim": aim})
    return {"rows": rows, "seconds": seconds}

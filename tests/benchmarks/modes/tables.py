"""One service with 200 topics of 5 partitions each and a trickle on all: how long an epoch takes, what the driver holds."""

import statistics
import threading
import time
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from tests.benchmarks.aims import Rows, say
from tests.benchmarks.contestants import PROGRAM, Place, environment, write_map
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.modes.dumps import read_log, seconds_between
from tests.benchmarks.process_tree import Session, pss_mb
from tests.benchmarks.room import Room
from tests.services.service_process import ServiceProcess

_TOPICS, _PARTITIONS = 200, 5
_EPOCHS = 60
_SHAPE = DATA_SETS["narrow"].shape


def measure(room: Room) -> dict[str, Any]:
    """Every table gets records between any two epochs; the first fifth of the epochs against the last one."""
    folder = room.new_folder()
    config = _map(room, folder)
    for number in range(_TOPICS):
        room.kafka().create_topic(f"trickle-{number}", _PARTITIONS)
    service = ServiceProcess("service", [*PROGRAM, str(config)], folder, environment)
    stop = threading.Event()
    sender = threading.Thread(target=_trickle, args=(room.kafka().bootstrap, stop))
    sender.start()
    samples: dict[int, tuple[float, float]] = {}
    try:
        service.start()
        while (done := len(read_log(service.output).epochs)) < _EPOCHS:
            assert service.is_running, service.output.read_text()[-2000:]
            if done and done not in samples:
                samples[done] = (pss_mb(service.pid), sum(map(pss_mb, Session(service.pid).sample())))
                say(f"epoch {done}: driver {samples[done][0]:.0f} MB, all {samples[done][1]:.0f} MB")
            time.sleep(0.5)
    finally:
        stop.set()
        sender.join()
        service.terminate(60)
    epochs, fifth = read_log(service.output).epochs, _EPOCHS // 5
    early, late = seconds_between(epochs[1 : fifth + 1]), seconds_between(epochs[-fifth:])
    begin, end = _mean(samples, range(1, fifth + 1)), _mean(samples, range(_EPOCHS - fifth, _EPOCHS))
    rows = Rows("tables")
    rows.add(
        f"epoch, {_TOPICS} tables of {_PARTITIONS} topic partitions", f"{early:.1f} s, later {late:.1f} s"
    )
    rows.add("driver's Python (no growth)", f"{begin[0]:.0f} MB, later {end[0]:.0f} MB")
    rows.add("all processes (no growth)", f"{begin[1]:.0f} MB, later {end[1]:.0f} MB")
    return {"rows": rows.made, "epochs": len(epochs), "samples": {str(k): v for k, v in samples.items()}}


def _mean(samples: dict[int, tuple[float, float]], epochs: range) -> tuple[float, float]:
    chosen = [samples[number] for number in epochs if number in samples]
    return statistics.mean(s[0] for s in chosen), statistics.mean(s[1] for s in chosen)


def _map(room: Room, folder: Path) -> Path:
    place = Place(folder, folder.as_uri(), room.kafka().bootstrap, "trickle-0", _SHAPE)
    path = write_map(place, trigger="1s")
    document = yaml.safe_load(path.read_text())
    (table,) = document["tables"]
    document["tables"] = [
        {**table, "table": f"bench.t{number}", "topics": [f"trickle-{number}"], "flush": {"interval": "1s"}}
        for number in range(_TOPICS)
    ]
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _trickle(bootstrap: str, stop: threading.Event) -> None:
    """One record into every topic partition, again and again."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "log_level": 3})
    records = DATA_SETS["narrow"].records()
    turn = 0
    while not stop.wait(1.0):
        for topic in range(_TOPICS):
            for partition in range(_PARTITIONS):
                producer.produce(f"trickle-{topic}", records[turn % len(records)], partition=partition)
        producer.flush(30)
        turn += 1

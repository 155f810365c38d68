"""Run one service for hours on Kafka, HDFS and HiveServer2 of its own, under load that rises and falls, and under faults.

Every few minutes the load stops for a moment, and an oracle compares what became visible with what Kafka got, row by row.
Figures are added to those that the report's directory has: hours may be run in pieces.
"""

import argparse
import contextlib
import dataclasses
import datetime
import itertools
import json
import math
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.drills.stream import Stream, some_flights
from tests.drills.supervised import Supervised
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.harness.service_map import ledger_root
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.soak.checks import Checks
from tests.soak.faults import Faults
from tests.soak.many_tables import BROKER, BROKER_HEAP_MB, ManyTables
from tests.soak.report import Piece, growths, report, slower
from tests.soak.samples import Sample, Sampler

NAME = "soak"
TOPIC, TOPIC_PARTITIONS = "soak", 4
WAVE_SECONDS = 1500.0
"""From one peak of the load to the next."""
CALM_SECONDS = (5.0, 45.0)
"""Between a fault that is over and the next."""
MINUTES = {"path": "dt=%Y-%m-%d/minute=%H-%M"}


def main() -> int:
    asked = _arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    seed = random.SystemRandom().randrange(1 << 32) if asked.seed is None else asked.seed
    piece = Piece(datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"), seed)
    pieces, samples = _earlier(asked.out)
    taken: list[Sample] = []
    try:
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            file = _samples_file(asked.out, len(pieces) + 1)
            (_soak_many if asked.tables else _soak)(Path(folder), piece, taken, file, asked)
        grown: list[Any] = [g for g in growths(taken, piece.window) if not g.is_allowed]
        grown += [text for text in [slower(piece.epoch_figures)] if text]
        piece.outcome = f"grown: {grown}" if grown else "exact"
    except Exception as error:
        piece.outcome = f"{type(error).__name__}: {str(error).splitlines()[0]}" if str(error) else repr(error)
        raise
    finally:
        pieces, samples = [*pieces, piece], [*samples, taken]
        (asked.out / "soak.json").write_text(json.dumps([dataclasses.asdict(p) for p in pieces], indent=1))
        (asked.out / "soak.md").write_text(report(pieces, samples))
        sys.stdout.write(f"{piece.outcome}; report in {asked.out / 'soak.md'}\n")
    return 0 if piece.outcome == "exact" else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/soak", description=__doc__)
    parser.add_argument("hours", type=float, help="how long, for example 0.5")
    parser.add_argument(
        "--out", type=Path, default=Path("soak-report"), help="directory of figures and report"
    )
    parser.add_argument(
        "--seed", type=int, help="of faults and load (default: a new one, which the report names)"
    )
    parser.add_argument(
        "--peak",
        type=float,
        default=400,
        help="records a second at the load's peak (default 400); with --tables all the time",
    )
    parser.add_argument("--chapter", type=float, default=600, help="seconds between two checks (default 600)")
    parser.add_argument(
        "--tables",
        type=int,
        help="another form: so many small tables of 5 topic partitions, without Hive and without faults",
    )
    return parser.parse_args()


def _earlier(out: Path) -> tuple[list[Piece], list[list[Sample]]]:
    """The pieces that the directory has, and their samples."""
    file = out / "soak.json"
    pieces = [Piece(**entry) for entry in json.loads(file.read_text())] if file.exists() else []
    samples = []
    for number in range(1, len(pieces) + 1):
        lines = _samples_file(out, number).read_text().splitlines()
        samples.append([Sample(**json.loads(line)) for line in lines])
    _samples_file(out, len(pieces) + 1).unlink(missing_ok=True)
    return pieces, samples


def _samples_file(out: Path, piece: int) -> Path:
    return out / f"samples-{piece}.jsonl"


def _soak(
    folder: Path, piece: Piece, taken: list[Sample], samples_file: Path, asked: argparse.Namespace
) -> None:
    chance = random.Random(piece.seed)
    with contextlib.ExitStack() as stack:
        kafka = stack.enter_context(KafkaBroker(folder / "kafka"))
        hdfs = stack.enter_context(Hdfs(folder / "hdfs"))
        hive = stack.enter_context(HiveServer(folder / "hive", hdfs.site_properties))
        kafka.create_topic(TOPIC, TOPIC_PARTITIONS)
        hive.query(f"create database if not exists {NAME}")
        flights, payloads, minutes = (f"{NAME}.{name}" for name in ("flights", "payloads", "minutes"))
        compacted = {"bucket": MINUTES, "completion": {"delay": "1m"}, "compact": {"target": "64MiB"}}
        tables = [
            flights_in(flights, TOPIC),
            payloads_in(payloads, TOPIC),
            payloads_in(minutes, TOPIC, **compacted),
        ]
        address = {"url": f"hive://{hive.address}", "timeout": "30s"}
        scenario = Scenario(folder, NAME, kafka.bootstrap, on_hdfs(hdfs, NAME), tables, hive=address)
        checks = Checks(scenario, hive, (flights, payloads), (minutes,))
        began = time.monotonic()
        with Supervised(scenario.config) as service:
            faults = Faults(chance, service, kafka, hdfs, hive)
            sampler = Sampler(
                taken,
                samples_file,
                lambda: (service.restarts, service.run.pid, service.run.began),
                service.epochs,
                lambda: scenario.tree.files(ledger_root(scenario.uri)),
            )
            with sampler:
                while (left := began + asked.hours * 3600 - time.monotonic()) > 0:
                    _chapter(min(left, asked.chapter), piece, faults, checks, asked.peak)
                    piece.records, piece.checks = checks.records, piece.checks + 1
                    piece.seconds = round(time.monotonic() - began, 1)
                    sys.stdout.write(
                        f"{piece.seconds / 60:.0f} min: {checks.records:,} records are exact, {piece.faults}\n"
                    )
                    sys.stdout.flush()
            piece.restarts, piece.epochs = service.restarts, service.epochs()
            piece.longest_without_an_epoch = round(service.longest_silence(), 1)
            assert service.terminate() == 143, service.tail()
        scenario.verify("--deep")


def _soak_many(
    folder: Path, piece: Piece, taken: list[Sample], samples_file: Path, asked: argparse.Namespace
) -> None:
    with contextlib.ExitStack() as stack:
        kafka = stack.enter_context(KafkaBroker(folder / "kafka", BROKER, BROKER_HEAP_MB))
        hdfs = stack.enter_context(Hdfs(folder / "hdfs"))
        many = ManyTables(asked.tables, folder, random.Random(piece.seed), kafka, hdfs, piece.figures)
        try:
            many.run(asked.hours * 3600, asked.peak, asked.chapter, taken, samples_file, piece.epoch_figures)
            piece.checks = 1
        finally:  # a run that has failed has figures, too
            piece.seconds = taken[-1].at if taken else 0.0
            in_epochs = sum(epoch.records for epoch in piece.epoch_figures)
            piece.records = piece.figures.get("records", in_epochs)
            piece.epochs = len(piece.epoch_figures)
            pauses = [later.at - epoch.at for epoch, later in itertools.pairwise(piece.epoch_figures)]
            piece.longest_without_an_epoch = round(max(pauses, default=0.0), 1)


def _chapter(seconds: float, piece: Piece, faults: Faults, checks: Checks, peak: float) -> None:
    """Load and faults for some seconds, then a check."""
    service, scenario = faults.service, checks.scenario
    until = time.monotonic() + seconds
    wave = faults.chance.uniform(0, WAVE_SECONDS)

    def per_second(at: float) -> float:
        return peak * (0.55 + 0.45 * math.sin(2 * math.pi * (at + wave) / WAVE_SECONDS))

    def rest(pause: float) -> None:
        resumed = time.monotonic() + pause
        service.wait_until(lambda: time.monotonic() >= resumed, "through a pause", pause + 60, 0.2)

    payload = some_flights(faults.chance.randrange(1 << 32))
    with Stream(faults.kafka.bootstrap, {TOPIC: TOPIC_PARTITIONS}, payload, per_second, checks.ends) as load:
        scenario.wait_until_moved(service)
        while time.monotonic() < until:
            rest(faults.chance.uniform(*CALM_SECONDS))
            name = faults.strike()
            over = time.monotonic()
            service.look_after()
            scenario.wait_until_moved(service)
            piece.faults[name] = piece.faults.get(name, 0) + 1
            piece.back[name] = max(piece.back.get(name, 0.0), round(time.monotonic() - over, 1))
        stored = load.end()
    checks.check(service, stored)


if __name__ == "__main__":
    raise SystemExit(main())

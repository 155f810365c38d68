"""A NameNode that loses answers and never sees some requests: the dump stays exact, and it still makes progress.

Half of the faults lose the answer of a call that was carried out, the other half cut the connection before the NameNode
saw the call; questions are hit as changes are. Every fault ends the connection, with all that waits on it.
"""

import datetime
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.drills.conftest import Figures
from tests.drills.followed_log import FollowedLog
from tests.drills.form import Form
from tests.harness.namenode_proxy import FaultyCalls, NameNodeProxy
from tests.harness.program import command
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.oracle.exact import Acknowledged
from tests.oracle.ledger_text import LedgerText
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

SEED = 20260217
DAYS = 50
EPOCH_RECORDS = 4_000


def flight_of_a_day(payload: bytes) -> tuple[str, dict[str, Any]]:
    """A flight's row, and its bucket by day."""
    values = orjson.loads(payload)
    moment = datetime.datetime.fromisoformat(values["time_hour"])
    values["time_hour"] = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return f"dt={values['time_hour']:%Y-%m-%d}", values


def flights_of_some_days() -> list[bytes]:
    """All flights of about DAYS days in a fixed disorder: every epoch has records of nearly each of them."""
    chosen = list(flights()[: DAYS * 900])
    random.Random(SEED).shuffle(chosen)
    return chosen


@dataclass(frozen=True, slots=True)
class Dumped:
    """A run to its end: `rate` in records a second, from the end of its first epoch to the end of its last."""

    epochs: int
    files_per_epoch: float
    rate: float
    generations: int


@pytest.fixture
def proxy(hdfs: Hdfs) -> Iterator[NameNodeProxy]:
    """Before the shared NameNode."""
    with NameNodeProxy(int(hdfs.namenode_url.rpartition(":")[2])) as proxy:
        yield proxy


class FlakyDump:
    """`run --once` of one topic, again and again, each into a table of its own through the proxy."""

    def __init__(
        self,
        folder: Path,
        kafka: KafkaBroker,
        hdfs: Hdfs,
        proxy: NameNodeProxy,
        topic: str,
        stored: Acknowledged,
    ) -> None:
        self._folder, self._kafka, self._hdfs, self._proxy = folder, kafka, hdfs, proxy
        self._topic, self._stored = topic, stored

    def __call__(self, name: str, faults: FaultyCalls) -> Dumped:
        """To the end, with these faults; then, without faults, everything is asked whether it is exact."""
        table, by_day = f"{name}.flights", {"field": "time_hour", "path": "dt=%Y-%m-%d"}
        scenario = Scenario(
            self._folder,
            name,
            self._kafka.bootstrap,
            on_hdfs(self._hdfs, name, self._proxy.url),
            [flights_in(table, self._topic, flight_of_a_day, bucket=by_day)],
            limits={"epoch_records": EPOCH_RECORDS},
        )
        self._proxy.fate = faults
        try:
            done = command("run", scenario.config, "--once")
        finally:
            self._proxy.fate = FaultyCalls(random.Random(SEED), 0.0, 0.0)
        assert done.code == 0, done.log[-3000:]
        log = scenario.config.with_suffix(".log")
        log.write_text(done.log)

        scenario.verify("--contents", "--json")
        scenario.recover("--json")  # sweeps what was given up
        rows = scenario.assert_exactly_once(self._stored)[table]
        assert rows.total() == len(self._stored)
        return self._dumped(FollowedLog(log), scenario.ledgers[table])

    @staticmethod
    def _dumped(log: FollowedLog, ledger: LedgerText) -> Dumped:
        log.read_on()
        files = [len(snapshot["file"]) for snapshot in ledger.history() if snapshot["file"]]
        seconds = log.epoch_times[-1] - log.epoch_times[0]
        rows = [sum(file["rows"] for file in s["file"]) for s in ledger.history() if s["file"]]
        return Dumped(len(files), sum(files) / len(files), sum(rows[1:]) / seconds, ledger.generation())


@pytest.mark.timeout(3600)
def test_a_dump_of_fifty_files_an_epoch_ends_and_is_exact_while_the_namenode_loses_calls(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    proxy: NameNodeProxy,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    kafka.create_topic(unique, 4)
    records = flights_of_some_days()[: form.pick(4, 10) * EPOCH_RECORDS]
    stored = produce(kafka.bootstrap, unique, records, 4)
    dump = FlakyDump(tmp_path, kafka, hdfs, proxy, unique, stored)
    well = FaultyCalls(random.Random(SEED), 0.0, 0.0)
    undisturbed = dump(f"{unique}_well", well) if form.long else None
    for share in form.pick((0.02,), (0.002, 0.02)):
        faults = FaultyCalls(random.Random(SEED), share / 2, share / 2)
        disturbed = dump(f"{unique}_{round(share * 1000)}", faults)
        assert sum(faults.faults.values()) > 0
        assert disturbed.files_per_epoch > 0.9 * DAYS, "the epochs are smaller than the drill is for"
        figures(
            **{
                f"calls_at_{share:.1%}": sum(faults.calls.values()),
                f"faults_at_{share:.1%}": sum(faults.faults.values()),
                f"files_per_epoch_at_{share:.1%}": round(disturbed.files_per_epoch, 1),
                f"generations_at_{share:.1%}": disturbed.generations,
                f"records_per_s_at_{share:.1%}": round(disturbed.rate),
            }
        )
        if undisturbed is not None:
            figures(
                **{
                    "records_per_s_undisturbed": round(undisturbed.rate),
                    f"share_of_undisturbed_at_{share:.1%}": round(disturbed.rate / undisturbed.rate, 2),
                }
            )

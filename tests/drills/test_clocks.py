"""Clocks that jump a day under a run and between runs, and hours that exist twice or never: still exactly once."""

import datetime
import itertools
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.supervised import Supervised
from tests.harness.clock import MovedClock
from tests.harness.scenario import Scenario, flights_in, on_hdfs, payloads_in
from tests.oracle.data_files import visible_rows
from tests.oracle.exact import ends_of
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce

NEW_YORK, BERLIN = ZoneInfo("America/New_York"), ZoneInfo("Europe/Berlin")
CHANGES = [  # the instants at which an hour is skipped or begins again
    datetime.datetime(2013, 3, 10, 7, tzinfo=datetime.UTC),
    datetime.datetime(2013, 11, 3, 6, tzinfo=datetime.UTC),
    datetime.datetime(2013, 3, 31, 1, tzinfo=datetime.UTC),
    datetime.datetime(2013, 10, 27, 1, tzinfo=datetime.UTC),
]
WALL_CLOCKS = ["2013-03-10T02:30:00", "2013-11-03T01:30:00", "2013-03-10T01:59:59.999999"]
DAY = 86_400
HOURS = "dt=%Y-%m-%d/hr=%H"


def moments() -> Iterator[tuple[str, int]]:
    """Texts and milliseconds: every five minutes for an hour and a half around each change, and wall clocks without zone."""
    for change in CHANGES:
        for minutes in range(-90, 91, 5):
            moment = change + datetime.timedelta(minutes=minutes)
            yield moment.isoformat(), int(moment.timestamp() * 1000)
    for text in WALL_CLOCKS:
        yield text, int(CHANGES[0].timestamp() * 1000)


def in_new_york(payload: bytes) -> tuple[str, dict[str, Any]]:
    """By the table's zone: an instant becomes its wall clock, what has no zone is one already."""
    values = orjson.loads(payload)
    at = datetime.datetime.fromisoformat(values["at"])
    values["at"] = wall = at if at.tzinfo is None else at.astimezone(NEW_YORK).replace(tzinfo=None)
    return f"{wall:{HOURS}}", values


def in_berlin(payload: bytes) -> tuple[str, dict[str, Any]]:
    """The column is UTC, the bucket's zone is not."""
    values = orjson.loads(payload)
    at = datetime.datetime.fromisoformat(values["at"])
    values["at"] = at if at.tzinfo is None else at.astimezone(datetime.UTC).replace(tzinfo=None)
    wall = datetime.datetime.fromtimestamp(values["ms"] / 1000, BERLIN)
    return f"{wall:{HOURS}}", values


@pytest.mark.timeout(3600)
def test_clocks_that_jump_and_hours_that_change_lose_and_double_nothing(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: Form,
    figures: Figures,
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    new_york, berlin, now = (f"{unique}.{name}" for name in ("new_york", "berlin", "now"))
    own = {"columns": {"id": "bigint", "at": "timestamp", "ms": "bigint"}, "flush": {"interval": "500ms"}}
    by_at, by_ms = bucket("at"), bucket("ms", unit="ms", zone="Europe/Berlin")
    tables = [
        flights_in(new_york, unique, in_new_york, **own, zone="America/New_York", bucket=by_at),
        flights_in(berlin, unique, in_berlin, **own, bucket=by_ms),
        payloads_in(now, unique, bucket={"path": "dt=%Y-%m-%d", "time": "processing"}),
    ]
    clock = MovedClock(tmp_path)
    scenario = Scenario(tmp_path, unique, kafka.bootstrap, on_hdfs(hdfs, unique), tables)
    kafka.create_topic(unique, 2)
    records = [orjson.dumps({"id": n, "at": text, "ms": ms}) for n, (text, ms) in enumerate(moments())]
    stored: dict[Place, bytes | None] = {}

    def some_more(service: Supervised) -> None:
        stored.update(produce(kafka.bootstrap, unique, chance.sample(records, len(records)), 2))
        service.wait_until(lambda: service.epochs() > 0, f"an epoch (seed {seed})", 600, 0.2)
        scenario.wait_until_at(service, ends_of(stored), seconds=600)

    starts = form.pick([DAY, -DAY], [0, -DAY, DAY]) + [
        chance.choice([-DAY, 0, DAY, 400 * DAY, -400 * DAY]) for _ in range(form.count(0, 12))
    ]
    began = datetime.datetime.now(datetime.UTC)
    for number, seconds in enumerate(starts):
        clock.move(seconds)
        with monkeypatch.context() as patch, ExitStack() as stack:
            for name, value in clock.env.items():
                patch.setenv(name, value)
            service = stack.enter_context(Supervised(scenario.config))
            some_more(service)
            for _ in range(form.pick(1, 3)):
                clock.move(seconds + chance.choice([-1, 1]) * chance.choice([3600, DAY, 40 * DAY]))
                some_more(service)
            if number % 2:
                assert service.run.terminate() == 143, service.run.tail()
            else:
                service.run.kill_driver()
    scenario.recover("--takeover")

    written = [
        datetime.datetime.fromisoformat(snapshot["header"][0]["written_at"])
        for ledger in scenario.ledgers_of()
        for snapshot in ledger.history()
    ]
    back = sum(after < before for before, after in itertools.pairwise(written))
    days = {row.partition for row in visible_rows(scenario.tree, scenario.location(now))}
    assert min(written) < began - datetime.timedelta(hours=12) and len(days) > 1, (
        f"seed {seed}: no clock moved"
    )
    assert max(written) > began + datetime.timedelta(hours=12), f"seed {seed}: no clock moved forward"
    figures(
        starts=len(starts),
        jumps=clock.moves - 1,
        snapshots=len(written),
        snapshots_older_than_their_predecessor=back,
        processing_days=len(days),
        records=len(stored),
    )
    rows = scenario.assert_exactly_once(stored)
    hours = rows[new_york]
    assert "dt=2013-03-10/hr=02" in hours, "the wall clock of the skipped hour is kept as written"
    copies = len(stored) // len(records)
    assert hours["dt=2013-11-03/hr=01"] == copies * 25, "two hours of instants, and a wall clock"
    hours = rows[berlin]
    assert "dt=2013-03-31/hr=02" not in hours and hours["dt=2013-10-27/hr=02"] == copies * 24
    scenario.verify("--contents")


def bucket(field: str, **more: str) -> dict[str, str]:
    """By the hour."""
    return {"field": field, "path": HOURS, **more}

"""`top` on real services: records that arrive while the view is open, a dead letter in detail, a run that ends."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kafka2hive.cli.render.live_view import LiveView
from kafka2hive.config.load import load_map
from kafka2hive.service.inspect.top import Reading, TopReader, TopRow
from kafka2hive.service.wiring import wire
from tests.harness.made_up_figures import seen
from tests.harness.program import Running, command
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.oracle.exact import ends_of
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce


class Watch(LiveView):
    """The view, which keeps its last reading."""

    last: Reading | None = None

    def on_live_view_new_reading(self, message: LiveView.NewReading) -> None:
        self.last = message.reading
        super().on_live_view_new_reading(message)

    def row(self, name: str) -> TopRow | None:
        rows = self.last.rows if self.last else ()
        return next((one for one in rows if one.name == name), None)


def ends(row: TopRow | None) -> dict[tuple[str, int], int]:
    """Where the table stands, as the view's reading has it."""
    positions = row.table.view.state.positions if row and row.table else ()
    return {(p.topic_partition.topic, p.topic_partition.number): p.end for p in positions}


@pytest.mark.timeout(3600)
def test_records_that_arrive_are_seen_while_the_view_is_open(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    table = f"{hive_database}.flights"
    (port,) = free_ports(1)
    kafka.create_topic(hive_database, 2)
    scenario = Scenario(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        on_hdfs(hdfs, hive_database),
        [flights_in(table, hive_database, dead_letter_share=1)],
        hive={"url": f"hive://{hive.address}"},
        metrics={"port": port},
    )
    wiring = wire(load_map(str(scenario.config), {}))
    reader = TopReader(wiring, lambda: wiring.kafka(5.0, shared_timeout=True))
    view = Watch(reader, 0.2, hive=True)

    async def arrives(records: list[bytes]) -> dict[tuple[str, int], int]:
        stored.update(await asyncio.to_thread(produce, kafka.bootstrap, hive_database, records, 2))
        return dict(ends_of(stored))

    async def until_at(pilot: Pilot[None], wanted: dict[tuple[str, int], int]) -> TopRow:
        for _ in range(3_000):
            row = view.row(table)
            if row is not None and ends(row) == wanted and row.lag == 0:
                return row
            await pilot.pause(0.2)
        raise AssertionError(f"{ends(view.row(table))} is not {wanted}:\n{run.tail()}")

    async def watch() -> None:
        async with view.run_test(size=(120, 50)) as pilot:
            first = await until_at(pilot, await arrives(list(flights()[:2_000])))
            assert first.table is not None
            for part in range(1, 4):
                row = await until_at(pilot, await arrives(list(flights()[2_000 * part : 2_000 * (part + 1)])))
            assert row.table is not None and row.table.view.state.epoch > first.table.view.state.epoch
            assert row.rate is not None and row.rate.records > 1 and row.rate.bytes > 100 * row.rate.records
            await seen(view, pilot, "a run is alive", table[:30], "serving", "epoch: tasks", "publish")
            assert view.last is not None and view.last.phases.keys() == {"tasks", "publish"}

            bad = await until_at(pilot, await arrives([b'{"flight": "no number"}']))
            assert bad.table is not None  # a snapshot that only registers may be the newest
            assert sum(epoch.account.dead_lettered for epoch in bad.table.last_epochs) == 1
            await pilot.press("enter")
            await seen(
                view, pilot, "newest dead letters", "json.type", f"{hive_database}-0", "owner: process"
            )
            await pilot.press("escape")

            assert await asyncio.to_thread(run.terminate) == 143
            await seen(view, pilot, "no run is alive", "the last run ended", "with 143", "not running")

    stored: dict[tuple[str, int, int], bytes | None] = {}
    with Running(scenario.config) as run:
        asyncio.run(watch())
    frame = command("top", scenario.config, "--once")
    assert frame.code == 0 and table in frame.out and "not running" in frame.out, frame.out + frame.log

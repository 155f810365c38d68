"""One run of the service through every trouble of an HDFS without a standby; three tables, one oracle at the end.

The full disk is a real one as HDFS sees it: the DataNode comes back with all its room reserved, and refuses every block.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.followed_log import Record
from tests.drills.form import Form
from tests.drills.stream import Stream, some_flights
from tests.drills.supervised import Supervised
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.services.hadoop_files import DATANODE_REGISTERED
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker

USER = "dumper"
PER_SECOND = 300
_NO_RESERVE = "<name>dfs.datanode.du.reserved</name><value>0</value>"
_ALL_RESERVED = f"<name>dfs.datanode.du.reserved</name><value>{1 << 60}</value>"


class Troubles:
    """The service, its HDFS and tables; every trouble leaves HDFS well again."""

    def __init__(self, hdfs: Hdfs, service: Supervised, scenario: Scenario, form: Form) -> None:
        self._hdfs = hdfs
        self._service = service
        self._tables = {table: scenario.location(table) for table in scenario.tables}
        self._form = form
        self._client = hdfs.client()

    def all_go_on(self) -> None:
        """Until each table has published an epoch that began after now, or so."""
        self._service.wait_for_epochs(1)
        left = set(self._tables)

        def tick_off(record: Record) -> bool:
            if record.get("event") == "epoch":
                left.difference_update(record["tables"])
            return not left

        self._service.wait_for_record(tick_off, "at an epoch of each table")

    def safe_mode(self) -> None:
        self._hdfs.dfsadmin("-safemode", "enter")
        self._wait_for_messages("SafeModeException")
        self._hdfs.dfsadmin("-safemode", "leave")

    def datanode_gone_then_full(self) -> None:
        self._hdfs.datanode.kill()
        time.sleep(self._form.pick(2.0, 30.0))  # after 14 s the NameNode takes it for dead
        self._reserve(_NO_RESERVE, _ALL_RESERVED)
        self._hdfs.datanode.start()
        self._hdfs.datanode.wait_until(lambda: self._hdfs.datanode.said(DATANODE_REGISTERED))
        self._wait_for_messages("could only be written to")
        self._hdfs.datanode.kill()
        self._reserve(_ALL_RESERVED, _NO_RESERVE)
        self._hdfs.start_datanode()

    def quota_and_permission(self) -> None:
        """Two tables at once; the third goes on meanwhile."""
        limited, denied, _ = (self._path(table) for table in self._tables)
        self._hdfs.set_quota(limited, names=1)
        self._client.set_permission(denied, 0o500)
        self._client.set_owner(denied, "somebody", "somebody")
        self._wait_for_messages(*(f"{table} is set aside" for table in list(self._tables)[:2]))
        self._service.wait_for_epochs(2)
        self._client.set_owner(denied, USER, USER)
        self._client.set_permission(denied, 0o755)
        self._hdfs.clear_quota(limited)

    def namenode_hangs(self) -> None:
        self._hdfs.namenode.suspend()
        time.sleep(self._form.pick(8.0, 75.0))
        self._hdfs.namenode.resume()

    def _reserve(self, old: str, new: str) -> None:
        site = self._hdfs.folder / "conf" / "hdfs-site.xml"
        text = site.read_text()
        assert old in text
        site.write_text(text.replace(old, new))

    def _path(self, table: str) -> str:
        return self._tables[table].removeprefix(self._hdfs.namenode_url)

    def _wait_for_messages(self, *texts: str) -> None:
        left = set(texts)

        def tick_off(record: Record) -> bool:
            left.difference_update([text for text in left if text in str(record)])
            return not left

        self._service.wait_for_record(tick_off, f"told of {texts}")


@pytest.mark.timeout(3600)
def test_one_run_outlives_every_trouble_of_its_hdfs(
    kafka: KafkaBroker, hdfs_to_kill: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    seed = form.seed()
    names = [f"{unique}.{name}" for name in ("limited", "denied", "untouched")]
    tables = [flights_in(name, unique) for name in names]
    scenario = Scenario(tmp_path, unique, kafka.bootstrap, on_hdfs(hdfs_to_kill, unique), tables)
    kafka.create_topic(unique, 4)
    root = hdfs_to_kill.client()
    root.mkdirs(f"/{unique}")
    root.set_owner(f"/{unique}", USER, USER)
    back: dict[str, float] = {}
    with (
        Stream(kafka.bootstrap, {unique: 4}, some_flights(seed, PER_SECOND), PER_SECOND) as load,
        Supervised(scenario.config, env={"HADOOP_USER_NAME": USER}) as service,
    ):
        hurt = Troubles(hdfs_to_kill, service, scenario, form)
        hurt.all_go_on()
        troubles: list[Callable[[], None]] = [
            hurt.safe_mode,
            hurt.datanode_gone_then_full,
            hurt.quota_and_permission,
            hurt.namenode_hangs,
        ]
        for trouble in troubles * form.count(1, 3):
            trouble()
            over = time.monotonic()
            hurt.all_go_on()
            name = f"{trouble.__name__}_back_s"
            back[name] = max(back.get(name, 0.0), round(time.monotonic() - over, 1))
        stored = scenario.end(service, load)
        scenario.verify("--json")
        scenario.recover("--json")
    rows = sum(found.total() for found in scenario.assert_exactly_once(stored).values())
    assert rows == 3 * len(stored), f"seed {seed}"
    figures(
        troubles=len(back) * form.count(1, 3),
        **back,
        longest_without_an_epoch_s=round(service.longest_silence(), 1),
        restarts=service.restarts,
        ambiguous_answers=len(service.unclear),
        epochs=service.epochs(),
        rows=rows,
    )

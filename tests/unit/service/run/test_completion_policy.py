"""Which open partitions are complete: after a delay, or as a package's policy says; what such a policy does wrong."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka2hive.config.keys import Bucketing, CompletionOptions, PluginOptions, TableRule
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import OpenPartition
from kafka2hive.service.run.completion import Decider
from tests.harness.package import lay_out
from tests.simulation.service.maps import rule_of

MODULE = '''
import sys

class Unreadable:
    def __repr__(self):
        raise ValueError("no text")

class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")

class Policy:
    def __init__(self, context):
        self.context, self.wrong = context, context.options.get("wrong", "")
        if self.wrong == "made":
            raise OSError("no licence")

    def complete(self, buckets, through):
        if self.wrong == "raises":
            raise KeyError("b")
        if self.wrong == "mute":
            raise Mute
        if self.wrong == "exits":
            sys.exit(3)
        if self.wrong == "changes":
            buckets.clear()
        if self.wrong == "later":
            return (1 / 0 for bucket in buckets)
        answers = {"few": [True], "many": [True] * 3, "numbers": [1, 0], "none": [True, None], "nothing": None,
                   "unreadable": [Unreadable(), True], "map": {0: True, 1: True}}
        return answers[self.wrong]

class Told(Policy):
    """Complete are those that the option `full` names, where the rest of what it is told is right."""

    def complete(self, buckets, through):
        told = (self.context.table, self.context.path, self.context.zone, str(self.context.delay), str(through))
        assert told == tuple(self.context.options["told"].split("|")), told
        return [
            f"{bucket.values} {bucket.end} {bucket.opened_at} {bucket.files} {bucket.rows}" == self.context.options["full"]
            for bucket in buckets
        ]
'''
ENTRIES = """[kafka2hive.completion_policies]
wrong = some_policies:Policy
told = some_policies:Told
gone = some_policies:Missing
"""
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, "some_policies", ENTRIES, MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def text(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def opened(path: str, at: datetime = NOON - timedelta(days=30)) -> OpenPartition:
    place = HivePartition("d.t", path, f"hdfs://n/t/{path}")
    return OpenPartition(partition=place, since=3, opened_at=text(at), files=4, rows=50)


def rule(path: str = "dt=%Y-%m-%d", zone: str = "UTC", **completion: object) -> TableRule:
    return replace(
        rule_of("d.t", ("t",)),
        bucketing=Bucketing(path, zone=zone),
        completion=replace(CompletionOptions(), **completion),  # type: ignore[arg-type]  # each of its own type
    )


def plugged(name: str, path: str = "dt=%Y-%m-%d", **options: str) -> TableRule:
    return rule(path, plugin=PluginOptions(name=name, options=tuple(options.items())))


def complete(of: TableRule, partitions: Sequence[OpenPartition], through: datetime) -> set[str]:
    return {each.path for each in Decider(of, "d.t").complete(partitions, ms(through))}


def test_a_partition_is_complete_a_delay_after_its_end_and_not_a_moment_before() -> None:
    day, after = [opened("dt=2026-11-22")], datetime(2026, 11, 23, 1, tzinfo=UTC)
    assert complete(rule(), day, after) == {"dt=2026-11-22"}
    assert complete(rule(), day, after - SECOND) == set()
    assert complete(rule(delay_seconds=0.0), day, after - timedelta(hours=1)) == {"dt=2026-11-22"}
    assert complete(rule(delay_seconds=0.0), day, after - timedelta(hours=1) - SECOND) == set()
    assert complete(rule(delay_seconds=3601.0), day, after) == set()


def test_the_end_is_that_of_the_buckets_zone() -> None:
    day, berlin = [opened("dt=2026-11-22")], rule(zone="Europe/Berlin")
    assert complete(berlin, day, datetime(2026, 11, 23, 0, tzinfo=UTC)) == {"dt=2026-11-22"}
    assert complete(berlin, day, datetime(2026, 11, 23, 0, tzinfo=UTC) - SECOND) == set()


def test_what_came_late_is_complete_a_delay_after_the_first_of_it() -> None:
    day = [opened("dt=2026-11-01", NOON)]
    assert complete(rule(), day, NOON + timedelta(hours=1)) == {"dt=2026-11-01"}
    assert complete(rule(), day, NOON + timedelta(hours=1) - SECOND) == set()


def test_each_partition_is_judged_by_itself_and_one_without_an_end_is_never_complete() -> None:
    paths = [
        "dt=2026-11-20",
        "dt=2026-11-24",
        "dt=__HIVE_DEFAULT_PARTITION__",
        "dt=2026-11-21",
        "dt=2026-13-01",
    ]
    assert complete(rule(), [opened(path) for path in paths], NOON) == {"dt=2026-11-20", "dt=2026-11-21"}
    assert complete(rule("c={c}"), [opened("c=US")], NOON) == set()


def test_the_policy_is_named_as_the_map_names_it() -> None:
    assert Decider(rule(), "d.t").name == "3600s after its end"
    assert Decider(rule(delay_seconds=90.0), "d.t").name == "90s after its end"
    assert Decider(plugged("wrong"), "d.t").name == "plugin wrong"


def test_a_policy_of_others_is_told_everything_and_decides_alone() -> None:
    told = "d.t|dt=%Y-%m-%d/c={c}|UTC|1:00:00|2026-11-23 12:00:00+00:00"
    full = "{'dt': '2099-01-01', 'c': 'a/b'} 2099-01-02 00:00:00+00:00 2026-11-23 12:00:00+00:00 4 50"
    of = plugged("told", "dt=%Y-%m-%d/c={c}", told=told, full=full)
    paths = ["dt=2099-01-01/c=a%2Fb", "dt=2001-01-01/c=x"]
    assert complete(of, [opened(path, NOON) for path in paths], NOON) == {paths[0]}


def test_a_policy_of_others_sees_a_default_partition_as_none_and_paths_without_a_time() -> None:
    told = "d.t|c={c}|UTC|1:00:00|2026-11-23 12:00:00+00:00"
    of = plugged("told", "c={c}", told=told, full="{'c': None} None 2026-11-23 12:00:00+00:00 4 50")
    default = "c=__HIVE_DEFAULT_PARTITION__"
    assert complete(of, [opened(default, NOON), opened("c=None", NOON)], NOON) == {default}


@pytest.mark.parametrize(
    ("wrong", "code", "words"),
    [
        ("made", "plugin.failed", "OSError: no licence"),
        ("raises", "plugin.failed", "KeyError: 'b'"),
        ("exits", "plugin.failed", "SystemExit: 3"),
        ("later", "plugin.failed", "ZeroDivisionError"),
        ("changes", "plugin.failed", "AttributeError"),  # what it is given cannot be changed
        ("nothing", "plugin.failed", "TypeError"),
        ("mute", "plugin.failed", "Mute: "),
        ("unreadable", "plugin.failed", "ValueError: no text"),
        ("few", "plugin.result", r"complete\(\) returned \[True\] for 2 partitions"),
        ("many", "plugin.result", r"complete\(\) returned \[True, True, True\] for 2 partitions"),
        ("numbers", "plugin.result", r"complete\(\) returned \[1, 0\] for 2"),
        ("map", "plugin.result", r"complete\(\) returned \[0, 1\] for 2"),
        ("none", "plugin.result", r"complete\(\) returned \[True, None\] for 2"),
    ],
)
def test_a_policy_that_is_wrong_is_an_error_of_its_table_whatever_it_does(
    wrong: str, code: str, words: str
) -> None:
    with pytest.raises(TableError, match=words) as raised:
        complete(plugged("wrong", wrong=wrong), [opened("dt=2026-11-01"), opened("dt=2026-11-02")], NOON)
    assert raised.value.code == code
    assert "kafka2hive.completion_policies wrong: " in raised.value.message


def test_a_policy_that_is_not_installed_is_told() -> None:
    with pytest.raises(
        TableError, match=r"no package offers nobody in kafka2hive\.completion_policies"
    ) as raised:
        Decider(plugged("nobody"), "d.t")
    assert raised.value.code == "plugin.missing"
    with pytest.raises(TableError, match="AttributeError") as raised:
        Decider(plugged("gone"), "d.t")
    assert raised.value.code == "plugin.failed"


def test_nobody_is_asked_of_nothing() -> None:
    assert complete(plugged("wrong", wrong="raises"), [], NOON) == set()

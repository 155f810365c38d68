"""Split brain: an owner falls asleep, another one takes over, the first wakes up. It ends with 73 and has changed nothing."""

import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drills.committer_table import CommitterTable
from tests.drills.conftest import Figures
from tests.drills.failpoint import AFTER, BEFORE, Failpoint
from tests.drills.failpoint_names import COMMIT, DATA, DRAFT, FINALISE, PROMOTE, TAKE_OVER
from tests.drills.form import Form
from tests.drills.split_brain import changes_since, tried_since, wait_until_stopped
from tests.drills.warm_committer import WarmCommitter, wait_until_note
from tests.services.hdfs import Hdfs

FENCED = 73


def _asleep(name: str, operation: str, pattern: str, count: int) -> list[Failpoint]:
    return [
        Failpoint(f"{moment} {name}", operation, pattern, moment, count=count, signal=signal.SIGSTOP)
        for moment in (BEFORE, AFTER)
    ]


# counts above 1: it has published an epoch before it falls asleep
SLEEPS: list[Failpoint | None] = [
    *_asleep("the commit", "rename", COMMIT, 2),
    *_asleep("promoting the second file", "rename", PROMOTE, 4),
    *_asleep("finalising", "rename", FINALISE, 2),
    *_asleep("the take-over", "rename", TAKE_OVER, 1),
    *_asleep("creating a snapshot", "create", DRAFT, 2),
    *_asleep("closing a snapshot", "close", DRAFT, 2),
    *_asleep("renaming a data file to pending", "rename", DATA + "in-progress -> ", 4),
    *[None] * 4,  # at any moment
]


class Lane:
    """One table: its owner sleeps, is replaced, wakes up, again and again."""

    def __init__(self, hdfs: Hdfs, name: str, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self._chance = random.Random(seed)
        self._name = name
        self._table = CommitterTable(hdfs, name, folder, self._chance)
        self.count: Counter[str] = Counter()
        self.slept: Counter[str] = Counter()

    def play(self, sleeps: list[Failpoint | None]) -> "Lane":
        with (
            WarmCommitter(self._folder / f"{self._name}.first.log") as first,
            WarmCommitter(self._folder / f"{self._name}.second.log") as second,
        ):
            for sleep in sleeps:
                self._round(first, second, sleep)
            second.start(self._table.order(epochs=0))
            assert second.wait() == 0, second.tail()
        self.count += self._table.assert_right()
        return self

    def _round(self, first: WarmCommitter, second: WarmCommitter, sleep: Failpoint | None) -> None:
        journal, what = self._table.journal, sleep.name if sleep else "at any moment"
        said = f"{what} (seed {self._seed})"
        order = self._table.order(sleep, beats=True, take_over=True)
        first.start(order)
        if sleep is None:
            wait_until_note(journal, "published", 1, first.pid)
            time.sleep(self._chance.uniform(0, 1.5))
            first.signal(signal.SIGSTOP)
        wait_until_stopped(first.pid)
        assert order.failpoint is None or order.failpoint.was_hit(), said

        second.start(self._table.order(beats=True, take_over=True))
        wait_until_note(journal, "started", 1, second.pid)
        sleeper, woken = first.pid, time.monotonic()
        first.signal(signal.SIGCONT)
        assert first.wait() == FENCED, f"{said}: {first.tail()}"
        done = changes_since(journal, sleeper, woken)
        assert not done, f"{said}: the fenced one changed {done}"
        self.count["changes_tried_after_waking"] += tried_since(journal, sleeper, woken)
        wait_until_note(journal, "published", 2, second.pid)
        second.signal(signal.SIGKILL)
        assert second.wait() == -signal.SIGKILL, second.tail()
        self.count["rounds"] += 1
        self.slept[what] += 1


@pytest.mark.timeout(7_200)
def test_a_committer_that_wakes_up_fenced_ends_and_changes_nothing(
    hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    lanes, rounds = form.pick(4, 6), form.count(4, 90)
    seed = form.seed()
    sleeps = random.Random(seed).sample(SLEEPS, len(SLEEPS)) * (rounds // len(SLEEPS) + 1)

    def run(number: int) -> Lane:
        lane = Lane(hdfs, f"{unique}_{number}", tmp_path, seed + number)
        return lane.play([s and replace(s) for s in sleeps[:rounds][number::lanes]])

    with ThreadPoolExecutor(lanes) as pool:
        played = list(pool.map(run, range(lanes)))
    count: Counter[str] = sum((lane.count for lane in played), Counter())
    slept: Counter[str] = sum((lane.slept for lane in played), Counter())
    assert count["rounds"] == rounds
    assert not form.long or len(slept) == len({s and s.name for s in SLEEPS}), f"seed {seed}: {slept}"
    figures(
        seed=seed,
        rounds=rounds,
        fenced=count["rounds"],
        changes_tried_after_waking=count["changes_tried_after_waking"],
        epochs=count["epochs"],
        generations=count["generations"],
        **{f"asleep {name}": times for name, times in sorted(slept.items())},
    )

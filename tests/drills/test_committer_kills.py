"""The committer alone on a real NameNode, killed at every failpoint and at random: every record in one final file."""

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.drills.committer import CommitterOrder
from tests.drills.committer_table import CommitterTable
from tests.drills.conftest import Figures
from tests.drills.failpoint import AFTER, ANY, BEFORE, Failpoint, read_journal
from tests.drills.failpoint_names import ALL, STORIES
from tests.drills.form import Form
from tests.drills.warm_committer import WarmCommitter
from tests.services.hdfs import Hdfs

# kills of one table at random, after the stories were played on it
RANDOM_KILLS = 60
# an epoch takes about a second, nearly all of it waiting for HDFS to close files
LONGEST_LIFE = 2.0
MOST_OPERATIONS = 45
PATIENCE = 600.0


class Lane:
    """Tables one after another, killed and killed again; several lanes share the NameNode, each with its own table."""

    def __init__(self, hdfs: Hdfs, name: str, folder: Path, seed: int) -> None:
        self._hdfs = hdfs
        self._name = name
        self._folder = folder
        self._chance = random.Random(seed)
        self._seed = seed
        self._tables = 0
        self.count: Counter[str] = Counter()
        self.hit: Counter[str] = Counter()
        self.left: Counter[str] = Counter()

    def play(self, stories: tuple[tuple[Failpoint, ...], ...], kills: int) -> "Lane":
        """All stories on each table, then random kills, until there were so many; each table is judged at its end."""
        with WarmCommitter(self._folder / f"{self._name}.log") as committer:
            while self.count["kills"] < kills:
                self._tables += 1
                table = CommitterTable(self._hdfs, f"{self._name}_{self._tables}", self._folder, self._chance)
                for point in (point for story in stories for point in story):
                    self._kill_at(committer, table, point)
                for _ in range(min(RANDOM_KILLS, kills - self.count["kills"])):
                    self._kill_at_random(committer, table)
                committer.start(table.order(epochs=0))
                assert committer.wait() == 0, f"seed {self._seed}: {committer.tail()}"
                self.count += table.assert_right()
                self.count["tables"] += 1
        return self

    def _kill_at(self, committer: WarmCommitter, table: CommitterTable, point: Failpoint) -> None:
        order = table.order(point)
        code = self._run(committer, table, order, point.name)
        assert code == -signal.SIGKILL, f"{point.name}: ended with {code}; {committer.tail()}"
        assert order.failpoint is not None
        assert order.failpoint.was_hit(), f"{point.name}: killed by somebody else"
        self.hit[point.name] += 1
        self._note(table)

    def _run(self, committer: WarmCommitter, table: CommitterTable, order: CommitterOrder, what: str) -> int:
        """Start one that kills itself, and wait until it has."""
        committer.start(order)
        try:
            return committer.wait(PATIENCE)
        except TimeoutError as late:
            lines = read_journal(table.journal)[-12:]
            late.add_note(f"seed {self._seed}, {table.name}, {what}; now {time.monotonic()}; last: {lines}")
            raise

    def _kill_at_random(self, committer: WarmCommitter, table: CommitterTable) -> None:
        """Two of three at an operation, so that all steps get their share; the others at any moment."""
        if self._chance.random() < 2 / 3:
            moment = self._chance.choice((BEFORE, AFTER))
            count = self._chance.randint(1, MOST_OPERATIONS)
            order = table.order(Failpoint("random", ANY, "", moment, count=count))
            code = self._run(committer, table, order, f"{moment} operation {count}")
        else:
            committer.start(table.order())
            time.sleep(self._chance.uniform(0, LONGEST_LIFE))
            committer.signal(signal.SIGKILL)
            code = committer.wait()
        assert code == -signal.SIGKILL, f"seed {self._seed}: ended with {code}; {committer.tail()}"
        self.count["random"] += 1
        self._note(table)

    def _note(self, table: CommitterTable) -> None:
        self.count["kills"] += 1
        self.left[table.left_behind()] += 1


@pytest.fixture
def roomy_hdfs(request: pytest.FixtureRequest, tmp_path: Path, form: Form) -> Iterator[Hdfs]:
    """The shared HDFS; in the long form one with small blocks: for ten minutes the NameNode keeps the room of a whole
    block for each file that a killed writer left open, and after 1,500 kills 70 GB were full of nothing.
    """
    if not form.long:
        yield request.getfixturevalue("hdfs")
        return
    with Hdfs(tmp_path / "hdfs", properties={"dfs.blocksize": "1m"}) as services:
        yield services


@pytest.mark.timeout(14_400)
def test_kills_of_the_committer_leave_every_record_in_one_final_file(
    roomy_hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    lanes, kills = form.pick(4, 8), form.count(64, 2_000)
    seed = form.seed()
    began = time.monotonic()

    def run(number: int) -> Lane:
        # short: each lane plays one story; long: every lane plays all of them on every table
        stories = STORIES if form.long else (STORIES[number],)
        return Lane(roomy_hdfs, f"{unique}_{number}", tmp_path, seed + number).play(stories, kills // lanes)

    with ThreadPoolExecutor(lanes) as pool:
        played = list(pool.map(run, range(lanes)))
    seconds = time.monotonic() - began
    count: Counter[str] = sum((lane.count for lane in played), Counter())
    hit: Counter[str] = sum((lane.hit for lane in played), Counter())
    left: Counter[str] = sum((lane.left for lane in played), Counter())
    assert set(hit) == {point.name for point in ALL}, f"seed {seed}"
    assert count["kills"] >= kills
    for picture in ("committed, not final", "snapshot under way", "files staged"):
        assert left[picture], f"no kill left {picture} behind (seed {seed})"
    assert count["generations"] >= count["kills"] // 2, "most kills hit before the take-over"
    figures(
        seed=seed,
        kills=count["kills"],
        at_failpoints=sum(hit.values()),
        failpoints=len(hit),
        each_hit_at_least=min(hit.values()),
        at_random=count["random"],
        tables=count["tables"],
        generations=count["generations"],
        epochs=count["epochs"],
        files=count["files"],
        records=count["records"],
        **{f"left: {picture}": times for picture, times in sorted(left.items())},
        kills_per_minute=round(60 * count["kills"] / seconds, 1),
    )

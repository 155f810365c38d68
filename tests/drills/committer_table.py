"""One table that committers dump, and what must be true of it: judged from the NameNode, without the product."""

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.drills.committer import CommitterOrder
from tests.drills.failpoint import Failpoint, read_journal
from tests.drills.leftovers import take_marker_drafts_away
from tests.oracle.data_files import visible_files
from tests.oracle.exact import assert_settled
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs


class CommitterTable:
    """Below `<namenode>/<name>`; journal and marks in `folder`."""

    def __init__(self, hdfs: Hdfs, name: str, folder: Path, chance: random.Random) -> None:
        self.name = name
        uri = f"{hdfs.namenode_url}/{name}"
        self._root = f"{uri}/kafka2hive"
        self._location = f"{uri}/warehouse/{name}"
        self.table = f"drill.{name}"
        self.journal = folder / f"{name}.journal"
        self.tree = HdfsTree(hdfs.client())
        self.ledger = LedgerText(self.tree, self._root, self.table)
        self._order = CommitterOrder(
            hdfs.namenode_url, self._root, self.table, self._location, str(self.journal), seed=0
        )
        self._folder = folder
        self._chance = chance
        self._marks = 0

    def order(self, failpoint: Failpoint | None = None, **options: object) -> CommitterOrder:
        """An order with a seed of its own, and a mark of its own for the failpoint."""
        if failpoint is not None:
            self._marks += 1
            failpoint = replace(failpoint, mark=str(self._folder / f"{self.name}.{self._marks}.mark"))
        return replace(
            self._order,
            seed=self._chance.randrange(1 << 32),
            failpoint=failpoint,
            **options,  # type: ignore[arg-type]
        )

    def left_behind(self) -> str:
        """In what a dead committer was interrupted, by what lies there."""
        if not self.ledger.exists():
            return "no ledger yet"
        if self.ledger.pending_epoch() is not None:
            return "committed, not final"
        if any(name.endswith(".in-progress") for name in self.ledger.names()):
            return "snapshot under way"
        if self.tree.files(f"{self._location}/_tmp"):
            return "files staged"
        return "between"

    def published(self) -> dict[int, str]:
        """By epoch the owner that said it had published it."""
        return {
            line["epoch"]: line["owner"]
            for line in read_journal(self.journal)
            if line["event"] == "published"
        }

    def assert_right(self) -> Counter[str]:
        """After the last one has ended by itself: every record once, nothing pending, nothing claimed is missing.

        Drafts of the owner marker, left by a killed first start, mean nothing and nobody sweeps them: taken away here.
        Gives counts: epochs, generations, files, records.
        """
        take_marker_drafts_away(self.tree, self._location)
        ends = self.ledger.ends()
        assert_settled(self.tree, self._root, self.table, self._location, ends)
        history = self.ledger.history()
        self._assert_offsets_join(history)
        owners = {h["epoch"]: h["owner"] for snapshot in history for h in snapshot["header"]}
        for epoch, owner in self.published().items():
            assert owners.get(epoch) == owner, f"{self.name}: epoch {epoch} of {owner} is {owners.get(epoch)}"
        files = visible_files(self.tree, self._location)
        seen = Counter(
            tuple(json.loads(line)) for path in files for line in self.tree.read(path).splitlines()
        )
        expected = {(topic, number, offset) for (topic, number), end in ends.items() for offset in range(end)}
        assert set(seen) == expected, f"{self.name}: {sorted(expected ^ set(seen))[:5]} missing or invented"
        twice = [record for record, times in seen.items() if times > 1]
        assert not twice, f"{self.name}: twice: {twice[:5]}"
        certificates = self._assert_certificates_add_up(files, history)
        return Counter(
            epochs=len(history) - 1,
            generations=self.ledger.generation(),
            files=len(files),
            records=len(seen),
            certificates=certificates,
        )

    def _assert_certificates_add_up(
        self, files: list[str], history: list[dict[str, list[dict[str, object]]]]
    ) -> int:
        """What certificates and the newest snapshot's open partitions count are the rows that readers see. How many."""
        rows = Counter[str]()
        for path in files:
            rows[path.rpartition("/")[0]] += len(self.tree.read(path).splitlines())
        counted = Counter[str]()
        found = [p for p in self.tree.files(self._location) if "/_kafka2hive_complete-" in p]
        certificates = [path for path in found if path.endswith(".json")]
        # whoever was killed before it deleted a dead one's draft had put the certificate in its place
        needless = {path for path in found if f"{path.partition('.json')[0]}.json" in certificates}
        assert needless == set(found), f"{self.name}: left by dead ones: {set(found) - needless}"
        for path in certificates:
            told = json.loads(self.tree.read(path))
            assert told["location"] == path.rpartition("/")[0]
            counted[told["location"]] += told["rows"]
            assert f"{told['location']}/_SUCCESS" in self.tree.files(told["location"]), path
        for each in history[-1]["open"]:
            counted[str(each["location"])] += int(str(each["rows"]))
        assert counted == rows, f"{self.name}: {(counted - rows) or (rows - counted)}"
        told_of = sum(len(snapshot["certificate"]) - len(snapshot["reopened"]) for snapshot in history)
        assert len(certificates) == told_of
        return len(certificates)

    def _assert_offsets_join(self, history: list[dict[str, list[dict[str, object]]]]) -> None:
        stands: dict[object, object] = {}
        for snapshot in history:
            for position in snapshot["position"]:
                place = (position["topic"], position["number"])
                assert position["start"] == stands.get(place, 0), f"{self.name}: {position} does not follow"
                stands[place] = position["end"]

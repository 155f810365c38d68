"""Check the invariants I1, I3 and I4 at each rename, and count what happened."""

import re
from collections import Counter
from typing import Any

from kafka2hive.model.paths.ledger import Generation, parse_snapshot_name
from kafka2hive.model.paths.path import base_name, parent
from tests.oracle.ledger_text import objects_of
from tests.simulation.namenode import FileNode, NameNode, Node
from tests.simulation.places import DEAD_LETTER_LOCATION, LEDGER, LEDGERS, LOCATION, WAREHOUSE

HIDDEN = ".replayed"
"""The end of the name of a hidden file of replayed letters."""

VISIBLE = (".final", ".final.gz")
"""The ends of the names of visible files."""


EARLY = f"{LOCATION}/_open/"

CERTIFICATE = re.compile(
    r"_kafka2hive_complete-(?P<ledger>[0-9a-f]{8})-g[0-9]{6,}-e(?P<epoch>[0-9]{6,})\.json"
)


class Violation(BaseException):
    """The protocol broke a promise. It is no Exception, so that no guard against bugs takes it for one."""


class WatchedNameNode(NameNode):
    """A NameNode that checks every effect, whoever caused it and however late. It needs no production code."""

    def __init__(self, count: Counter[str]) -> None:
        super().__init__()
        self.count = count
        self.generations: list[str] = []
        self.certified: set[tuple[str, int]] = set()
        """The directories and epochs of the certificates that were ever in place."""
        self.committed: set[str] = set()
        self.newest: frozenset[str] = frozenset()
        self.ledger_was_lost = False
        self.promoted: set[str] = set()
        self.finished: list[str] = []
        self.retired: dict[str, bytes] = {}
        self.created_late: set[str] = set()
        self.fruitless: Counter[str] = Counter()

    def rename(self, source: str, target: str) -> Node:
        node = super().rename(source, target)
        if type(node) is not FileNode:
            self._directory_moved(target, node)  # type: ignore[arg-type]
        elif target.startswith(LEDGER.root):
            self._snapshot_moved(target, node)
        elif target.endswith(HIDDEN):
            self._hidden(source, target)
        elif target.endswith(VISIBLE):
            self._promoted(target)
        elif found := CERTIFICATE.fullmatch(base_name(target)):
            self._certified(parent(target), found["ledger"], int(found["epoch"]), node.content)
        return node

    def delete(self, path: str) -> bool:
        node = self.node(path)
        if isinstance(node, FileNode) and path.startswith(EARLY) and path.endswith(VISIBLE):
            self._check_retired(path)
            self.retired[path] = node.content
            self.count["early files deleted"] += 1
            return super().delete(path)
        if isinstance(node, FileNode) and node.content and self._has_expired(path):
            self.retired[path] = node.content
            self.count["expired files deleted"] += 1
            self.count["expired files of letters deleted"] += path.startswith(DEAD_LETTER_LOCATION)
            self.count["expired files of replayed letters deleted"] += path.endswith(HIDDEN)
            return super().delete(path)
        junk = isinstance(node, FileNode) and not node.content and path.startswith(LEDGERS)
        done = super().delete(path)
        if done and "/_tmp/" in path:
            self.count["orphans deleted"] += 1
        if (
            done
            and not junk
            and path.endswith((*VISIBLE, HIDDEN))
            and path.startswith((WAREHOUSE, LEDGERS))
            and "/init-" not in path
        ):
            raise Violation(f"{path} was deleted")
        return done

    @property
    def shown(self) -> str:
        """Whether `some` or `all` files of the newest commit are visible whose epoch is not final; "" if none is."""
        visible = self.newest & self.promoted
        return "" if not visible else "all" if visible == self.newest else "some"

    def was_late(self, operation: str, path: str, target: str, done: bool) -> None:
        """Count a delayed or repeated RPC that was executed, among the cases that a batch must have seen."""
        if operation == "rename" and target.startswith(LEDGER.root):
            if Generation.parse(base_name(target)):
                self.count["late take-over that hit" if done else "late take-over refused"] += 1
            elif done and target.endswith(".pending"):
                self.count["late commit that hit"] += 1
        elif operation == "rename" and done and target.endswith(HIDDEN):
            self.count["late hiding that hit"] += 1
        elif operation == "rename" and done and target.endswith(VISIBLE):
            self.count["late promote that hit"] += 1
        elif operation in ("create", "delete") and done:
            self.count[f"late {operation} that hit"] += 1
            if operation == "create":
                self.created_late.add(path)

    def was_unclear(self, operation: str, target: str, done: bool) -> None:
        """Count a lost answer."""
        if operation == "rename" and target.startswith(LEDGER.root) and target.endswith(".pending"):
            self.count["ambiguous commit that was done" if done else "ambiguous commit that was not"] += 1

    def _directory_moved(self, target: str, children: dict[str, Node]) -> None:
        name, table = base_name(target), parent(target)
        if not Generation.parse(name):
            return
        if target in self.generations:
            raise Violation(f"I1: generation {name} exists for the second time")
        self.generations.append(target)
        self.fruitless[table] += 1
        if self.fruitless[table] == 4:  # the fourth take-over in a row, after three starts without an epoch
            self.count["chain of three fruitless starts"] += 1
        self._look_inside(name, children)

    def _look_inside(self, name: str, children: dict[str, Node]) -> None:
        parsed = [p for p in map(parse_snapshot_name, children) if p]
        newest = max((epoch for epoch, state in parsed if state == "final"), default=-1)
        above = [epoch for epoch, state in parsed if state == "pending" and epoch > newest]
        if len(above) > 1 or (above and above[0] != newest + 1):
            raise Violation(f"I3: {name} holds pending snapshots {above} above final {newest}")
        if any(state == "pending" and epoch <= newest for epoch, state in parsed):
            self.count["junk pending ignored"] += 1
        if above:
            node = children[f"e{above[0]:06d}.pending"]
            assert isinstance(node, FileNode)
            files = _addresses(node.content)
            moved = sum(self.node(f) is not None for f in files)
            self.count["roll-forward"] += 1
            self.count["replays rolled forward"] += b"\nreplayed " in node.content
            self.count["roll-forward with certificates"] += b"\ncertificate " in node.content
            if 0 < moved < len(files):
                self.count["roll-forward of a half-moved epoch"] += 1

    def _snapshot_moved(self, target: str, node: FileNode) -> None:
        if target.endswith(".final") and not node.content:
            self.count["junk final of an archived epoch"] += 1
        elif target.endswith(".final") and target.startswith(LEDGERS):
            self.fruitless[parent(parent(target))] = 0
            self.newest = frozenset()
            self.finished += _addresses(node.content)
        elif target.endswith(".pending") and not node.content:
            self._junk(target)
        elif target.endswith(".pending"):
            if not node.content.endswith(b"\n"):
                raise Violation(f"{target} is committed half-written")
            self.newest = frozenset(_addresses(node.content))
            self.committed |= self.newest

    def _junk(self, target: str) -> None:
        """Check that an empty pending, which late RPCs created, does not look like the next epoch."""
        children = self.directory(parent(target)) or {}
        finals = [p[0] for p in map(parse_snapshot_name, children) if p and p[1] == "final"]
        epoch, _ = parse_snapshot_name(base_name(target)) or (-1, "")
        if epoch > max(finals):
            raise Violation(f"{target} is empty and stands where the next epoch belongs")

    def retire(self, path: str) -> None:
        """Delete a file of a finished epoch, as retention does, and keep its content for the oracle."""
        node = self.node(path)
        assert isinstance(node, FileNode)
        self.retired[path] = node.content
        super().delete(path)
        self.count["retention"] += 1

    def _hidden(self, source: str, target: str) -> None:
        """Check that a file is hidden only when its epoch is committed, and all of its files have been promoted (R11)."""
        if base_name(target) != f"_kafka2hive_{base_name(source)}{HIDDEN}" or parent(source) != parent(
            target
        ):
            raise Violation(f"R11: {source} is hidden as {target}")
        texts = [
            node.content
            for names in (self.directory(path) or {} for path in self.generations)
            for name, node in names.items()
            if isinstance(node, FileNode) and name.endswith((".pending", ".final")) and node.content
        ]
        naming = [t for t in texts if any(r["path"] == source for r in objects_of(t)["replayed"])]
        if not naming or not set(_addresses(naming[0])) <= self.promoted | self.retired.keys():
            raise Violation(f"R11: {source} is hidden before what replaces it is visible")
        if source in self.finished:
            self.finished.remove(source)

    def _check_retired(self, path: str) -> None:
        """Check that a committed snapshot has retired the place of an early file, that queries there fail, and that what
        compaction wrote is at home (K8).
        """
        lines = self._committed_lines("retired", "file")
        place = parent(path)
        mine = [r for r in lines["retired"] if r["early"] == place and epoch_of(path) <= r["through"]]
        marks = [name for name in self.directory(place) or {} if name.startswith("moved-")]
        if not mine or not marks:
            raise Violation(f"K8: {path} is deleted, retired by {mine}, marked by {marks}")
        if any(not self.read(f"{place}/{mark}") for mark in marks):
            raise Violation(f"K8: {place} has an empty file")
        homes = {
            f["final"]
            for f in lines["file"]
            if f["kind"] == "compacted" and f["partition"] == mine[0]["partition"]
        }
        if not homes & self.promoted:
            raise Violation(f"K8: {path} is deleted, and its rows are not at home")

    def _has_expired(self, path: str) -> bool:
        """Return whether a committed snapshot says that the file's partition was dropped, and is not in Hive any more (E4)."""
        if not (path.startswith((LOCATION, DEAD_LETTER_LOCATION)) and path.endswith((*VISIBLE, HIDDEN))):
            return False
        return any(
            line["location"] == parent(path) and epoch_of(path) <= line["epoch"] and line["gone_since"]
            for line in self._committed_lines("dropped")["dropped"]
        )

    def _committed_lines(self, *tags: str) -> dict[str, list[dict[str, Any]]]:
        """Return the lines with these tags of all committed snapshots."""
        lines: dict[str, list[dict[str, Any]]] = {tag: [] for tag in tags}
        for directory, names in list(self.directories.items()):
            if directory.startswith(LEDGER.root) and "/init-" not in directory:
                for name, node in names.items():
                    if isinstance(node, FileNode) and name.endswith((".pending", ".final")) and node.content:
                        told = objects_of(node.content)
                        lines = {tag: [*lines[tag], *told[tag]] for tag in lines}
        return lines

    def _certified(self, directory: str, ledger: str, epoch: int, text: bytes) -> None:
        """Check that a certificate appears after the files that it counts; it must name those that were given up."""
        self.count["certificates written"] += 1
        self.certified.add((directory, epoch))
        late = [
            path
            for path in self.committed - self.promoted
            if parent(path) == directory
            and f"-{ledger}-" in path
            and epoch_of(path) <= epoch
            and path.encode() not in text
            and not self.ledger_was_lost
        ]
        if late:
            raise Violation(f"{directory} is certified up to epoch {epoch}, without {late}")

    def _promoted(self, target: str) -> None:
        if target not in self.committed:
            raise Violation(f"I4: {target} belongs to no committed snapshot")
        if target in self.promoted and target in self.retired and target.startswith(EARLY):
            self.count["junk at a retired place"] += 1
            return
        if target in self.promoted:
            raise Violation(f"I4: {target} was promoted for the second time")
        if not target.startswith(WAREHOUSE):
            raise Violation(f"{target} lies outside the warehouse")
        self.promoted.add(target)


def visible_records(namenode: NameNode, directory: str) -> Counter[str]:
    """Return the rows of the files that a reader finds in a directory."""
    rows: Counter[str] = Counter()
    for name, node in (namenode.directory(directory) or {}).items():
        if isinstance(node, FileNode) and not name.startswith(("_", ".")):
            rows.update(node.content.partition(b"\n#")[0].decode().split("\n"))
    return rows


def epoch_of(path: str) -> int:
    """Return the epoch in the name of a data file."""
    found = re.search(r"-g[0-9]+-e([0-9]+)-", base_name(path))
    assert found is not None
    return int(found[1])


def _addresses(snapshot: bytes) -> list[str]:
    """Return the addresses in line 1 of a snapshot."""
    line = snapshot.split(b"\n", 1)[0].decode()
    return [] if line == "-" else line.split("\t")

"""Damage that somebody may do to a service at rest, and the error with which the next start must report it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.paths.path import join, parent
from kafka2hive.model.paths.table_directory import owner_marker
from tests.simulation.metastore import Hive
from tests.simulation.namenode import Directory, FileNode
from tests.simulation.service.kafka import Cluster
from tests.simulation.snapshot_text import SnapshotText, ToldFile, read_snapshot
from tests.simulation.world import World


@dataclass(frozen=True, slots=True)
class DemoContext:
    """A table at rest. `staged` and `moved` are the files of its pending epoch; both are empty if the newest snapshot is final.

    `older` has the ledger's files by path before the last run, for somebody who restores a backup.
    """

    world: World
    hive: Hive
    cluster: Cluster
    ledger: LedgerPaths
    location: str
    directory: str
    newest: SnapshotText
    moved_to: dict[str, str]
    pending: bool
    staged: tuple[ToldFile, ...]
    moved: tuple[ToldFile, ...]
    older: dict[str, bytes] | None = None
    clusters: dict[str, str] = field(default_factory=dict)

    @property
    def children(self) -> Directory:
        """Return the children of the generation directory."""
        return self.world.namenode.directories[self.directory]

    @property
    def newest_name(self) -> str:
        return f"e{self.newest.epoch:06d}.{'pending' if self.pending else 'final'}"

    def node(self, path: str) -> FileNode:
        node = self.world.namenode.node(path)
        assert isinstance(node, FileNode)
        return node

    def one(self, items: tuple[ToldFile, ...]) -> ToldFile:
        return items[self.world.below(len(items))]


@dataclass(frozen=True, slots=True)
class Harm:
    """The expected result of some damage. The table must be set aside with one of `codes`.

    `lost` is the file that a repair must name, `unregistered` what may be given up instead. `undo` restores the state before, and
    is the only remedy if no other is set. If `commits`, the table's next epoch is committed before it is set aside. If
    `recreated`, the gap is the beginning of another topic. `moved_to` is the location in the map, `cluster` the name of the
    table's Kafka cluster in it.
    """

    codes: frozenset[str]
    undo: Callable[[], object] | None = None
    lost: ToldFile | None = None
    gap: TopicPartition | None = None
    rebuild: bool = False
    unregistered: HivePartition | None = None
    commits: bool = False
    recreated: bool = False
    moved_to: str = ""
    cluster: str = ""


Damage = Callable[[DemoContext], Harm | None]


def _put(world: World, path: str, content: bytes) -> None:
    world.namenode.mkdirs(parent(path))
    directory = world.namenode.directories[parent(path)]
    node = FileNode()
    node.content = content
    directory[path.rpartition("/")[2]] = node


def _take(world: World, path: str) -> None:
    del world.namenode.directories[parent(path)][path.rpartition("/")[2]]


def staged_file_missing(scene: DemoContext) -> Harm | None:
    if not scene.staged:
        return None
    file = scene.one(scene.staged)
    _take(scene.world, file.staged)
    return Harm(frozenset({"ledger.missing"}), lost=file)


def staged_file_cut(scene: DemoContext) -> Harm | None:
    if not scene.staged:
        return None
    file = scene.one(scene.staged)
    node = scene.node(file.staged)
    node.content = node.content[:-1]
    return Harm(frozenset({"ledger.length"}), lost=file)


def final_place_taken(scene: DemoContext) -> Harm | None:
    if not scene.staged:
        return None
    file = scene.one(scene.staged)
    _put(scene.world, file.final, b"somebody else's")
    return Harm(frozenset({"ledger.conflict"}), lost=file)


def final_file_cut(scene: DemoContext) -> Harm | None:
    if not scene.moved:
        return None
    file = scene.one(scene.moved)
    node = scene.node(file.final)
    node.content = node.content[:-1]
    return Harm(frozenset({"ledger.conflict"}), lost=file)


def final_file_missing(scene: DemoContext) -> Harm | None:
    if not scene.moved:
        return None
    file = scene.one(scene.moved)
    _take(scene.world, file.final)
    return Harm(frozenset({"ledger.missing"}), lost=file)


def snapshot_edited(scene: DemoContext) -> Harm | None:
    """Change a position by one, as somebody with an editor would: every line is still valid."""
    node = scene.node(join(scene.directory, scene.newest_name))
    before = node.content
    node.content = re.sub(rb'"end":(\d+)', lambda found: b'"end":%d' % (int(found[1]) + 1), before)
    if node.content == before:
        return None

    def undo() -> None:
        children = scene.world.namenode.directories[scene.ledger.table_directory]
        (present,) = children.values()
        assert isinstance(present, dict)
        present[scene.newest_name].content = before  # type: ignore[union-attr]

    return Harm(frozenset({"ledger.damaged"}), undo)


def pending_cut(scene: DemoContext) -> Harm | None:
    if not scene.pending:
        return None
    node = scene.node(join(scene.directory, scene.newest_name))
    before = node.content
    node.content = before[: len(before) // 2]

    def undo() -> None:
        (present,) = scene.world.namenode.directories[scene.ledger.table_directory].values()
        present[scene.newest_name].content = before  # type: ignore[index,union-attr]

    return Harm(frozenset({"ledger.damaged"}), undo)


def pending_two_ahead(scene: DemoContext) -> Harm | None:
    """Create a pending snapshot of an epoch that cannot be the next one."""
    newest = decode(scene.node(join(scene.directory, scene.newest_name)).content)
    far = replace(newest, epoch=newest.epoch + 2, files=(), unregistered=())
    name = f"e{far.epoch:06d}.pending"
    _put(scene.world, join(scene.directory, name), encode(far))

    def undo() -> None:
        (present,) = scene.world.namenode.directories[scene.ledger.table_directory].values()
        del present[name]  # type: ignore[union-attr]

    return Harm(frozenset({"ledger.impossible"}), undo)


def another_generation(scene: DemoContext) -> Harm | None:
    path = join(scene.ledger.table_directory, "g000000.init")
    scene.world.namenode.mkdirs(path)
    return Harm(frozenset({"ledger.generations"}), lambda: scene.world.namenode.delete(path))


def ledger_gone(scene: DemoContext) -> Harm | None:
    namenode = scene.world.namenode
    top = scene.ledger.table_directory
    for path in [p for p in namenode.directories if p == top or p.startswith(top + "/")]:
        del namenode.directories[path]
    del namenode.directories[parent(top)][top.rpartition("/")[2]]
    return Harm(frozenset({"ledger.vanished"}), rebuild=True)


def older_ledger_restored(scene: DemoContext) -> Harm | None:
    """Restore a backup from before the last run, if the next start looks where newer files are.

    Elsewhere they may go unnoticed: the known gap of docs/protocol.md ("A search that finds no trace proves nothing").
    """
    if not scene.older or not (scene.staged or any(_is_looked_at(scene, file) for file in scene.moved)):
        return None
    world, top = scene.world, scene.ledger.table_directory
    newest = {path: world.namenode.read(path) for path in world.namenode.files_below(top)}

    def put(files: dict[str, bytes]) -> None:
        ledger_gone(scene)
        for path, content in files.items():
            _put(world, path, content)

    put(scene.older)
    return Harm(frozenset({"ledger.restored"}), lambda: put(newest))


def _is_looked_at(scene: DemoContext, file: ToldFile) -> bool:
    """Return whether the older ledger's newest snapshot has the file's Hive partition, or its name is the greatest."""
    assert scene.older is not None
    older = read_snapshot(scene.older[max(p for p in scene.older if p.endswith((".final", ".pending")))])
    named = {p.location for p in (*(f.hive_partition for f in older.files), *older.unregistered)}
    buckets = [
        d for d in scene.world.namenode.directories if re.match(re.escape(scene.location) + "/[a-z]+=", d)
    ]
    greatest = max(
        buckets, key=lambda path: [int(n) for n in re.findall("=([0-9]+)", path)], default=scene.location
    )
    return parent(file.final) in (*named, greatest)


def marker_of_another(scene: DemoContext) -> Harm | None:
    node = scene.node(owner_marker(scene.location))
    before, node.content = node.content, b'{"ledger":"%s"}' % (b"f" * 32)
    return Harm(frozenset({"marker.foreign"}), lambda: setattr(node, "content", before))


def marker_unreadable(scene: DemoContext) -> Harm | None:
    node = scene.node(owner_marker(scene.location))
    before, node.content = node.content, b"?"
    return Harm(frozenset({"marker.damaged"}), lambda: setattr(node, "content", before))


def partition_elsewhere(scene: DemoContext) -> Harm | None:
    """Register a partition of this table at another location, before this service has registered it."""
    open_ones = [d for d in scene.newest.unregistered if d.table == scene.ledger.table]
    if not open_ones:
        return None
    partition = open_ones[scene.world.below(len(open_ones))]
    key = (partition.table, partition.path)
    scene.hive.registered[key] = "sim://namenode/elsewhere"
    undo = lambda: scene.hive.registered.pop(key)  # noqa: E731
    return Harm(frozenset({"hive.misplaced"}), undo, unregistered=partition, commits=True)


def renames_refused(scene: DemoContext) -> Harm | None:
    """Refuse all renames into the table's directory: missing permissions, or an encryption zone."""
    world = scene.world
    world.forbidden = scene.location
    return Harm(frozenset({"storage.denied"}), lambda: setattr(world, "forbidden", ""), commits=True)


def table_elsewhere(scene: DemoContext) -> Harm | None:
    """Recreate Hive's table for another directory."""
    table = scene.hive.ddl.tables[scene.ledger.table]
    before, table.location = table.location, "sim://namenode/elsewhere"
    return Harm(frozenset({"hive.location"}), lambda: setattr(table, "location", before))


def location_changed(scene: DemoContext) -> Harm | None:
    """Change the location in the map.

    In every other schedule no file can be renamed from the old location to the new one, as between mounts or encryption zones.
    """
    to = scene.location + "_moved"
    scene.moved_to[scene.ledger.table] = to
    if scene.world.below(2):
        scene.world.zones = (scene.location, to)
        scene.world.count["location changed to another zone"] += 1
    return Harm(frozenset({"ledger.location_changed"}), moved_to=to)


def column_of_another_type(scene: DemoContext) -> Harm | None:
    """Recreate Hive's table with a column of another type."""
    columns = scene.hive.ddl.tables[scene.ledger.table].columns
    before, columns["n"] = columns["n"], "date"
    return Harm(frozenset({"hive.columns"}), lambda: columns.update(n=before))


def _only_mine(scene: DemoContext) -> TopicPartition | None:
    """Return the topic partition whose log may be damaged: only the damaged table of this service reads it."""
    tp = TopicPartition("tb", 2)
    position = scene.newest.position(tp)
    return None if position is None or position.end < 1 else tp


def records_aged_out(scene: DemoContext) -> Harm | None:
    tp = _only_mine(scene)
    if tp is None:
        return None
    scene.cluster.begins[tp] = scene.cluster.ends[tp] + 2
    scene.cluster.grow(tp, 4)
    return Harm(frozenset({"kafka.offsets_lost"}), gap=tp)


def log_cut_off(scene: DemoContext) -> Harm | None:
    tp = _only_mine(scene)
    if tp is None:
        return None
    position = scene.newest.position(tp)
    assert position is not None
    scene.cluster.ends[tp] = position.end - 1
    scene.cluster.grown[tp].clear()
    return Harm(frozenset({"kafka.log_truncated"}), gap=tp)


def topic_recreated(scene: DemoContext) -> Harm | None:
    """Delete and recreate the topic: offsets begin at 0, and mean other records."""
    tp = _only_mine(scene)
    if tp is None:
        return None
    scene.cluster.recreate(tp.topic)
    scene.cluster.grow(tp, 1 + scene.world.below(20))
    return Harm(frozenset({"kafka.topic_recreated"}), gap=tp, recreated=True)


def topic_gone(scene: DemoContext) -> Harm | None:
    """Remove the topic from Kafka for a while: the other topics of the table continue."""
    scene.cluster.take_away("tb")
    return Harm(frozenset({"kafka.unknown_topic"}), scene.cluster.bring_back, commits=True)


def cluster_renamed(scene: DemoContext) -> Harm | None:
    """Give the table's Kafka cluster another name in the map."""
    scene.cluster.name_again(EAST)
    scene.clusters[scene.ledger.table] = EAST
    return Harm(frozenset({"kafka.cluster_changed"}), cluster=EAST)


EAST = "east"
"""The other name of the Kafka cluster."""

DAMAGES: tuple[Damage, ...] = (
    staged_file_missing,
    staged_file_cut,
    final_place_taken,
    final_file_cut,
    final_file_missing,
    snapshot_edited,
    pending_cut,
    pending_two_ahead,
    another_generation,
    ledger_gone,
    older_ledger_restored,
    marker_of_another,
    marker_unreadable,
    partition_elsewhere,
    renames_refused,
    table_elsewhere,
    location_changed,
    column_of_another_type,
    records_aged_out,
    log_cut_off,
    topic_recreated,
    topic_gone,
)

"""Hundreds of damages done on purpose to a dump: every one is reported with its place, none is repaired silently."""

import json
import logging
import random
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.model.errors import ExitCode
from kafka2hive.service.recover.result import RecoverRequest
from kafka2hive.service.recover.service import recover_service
from kafka2hive.service.verify.result import VerifyRequest
from kafka2hive.service.verify.verify import verify
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.storage.concurrency import Sequential
from tests.drills.conftest import Figures
from tests.drills.damage import Damage, copies, file_damages
from tests.drills.damage_ledger import (
    Ledger,
    believed_edits,
    directory_damages,
    pending_renamed,
    signed_edits,
    snapshot_damages,
)
from tests.drills.form import Chance, Form
from tests.drills.picture import LocalDump, Picture, picture_of
from tests.harness.program import command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import Acknowledged, assert_exactly, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree, Tree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

POISON = b"no flight"


@dataclass(frozen=True, slots=True)
class EpochLoop:
    """What the program made on HDFS: table `done` is finished, the newest epoch of `half` is half promoted."""

    picture: Picture
    service: str
    tables: list[dict[str, object]]
    stored: Acknowledged

    @property
    def done(self) -> str:
        return f"{self.service}.done"

    @property
    def half(self) -> str:
        return f"{self.service}.half"

    def map(self, folder: Path, kafka: str, base: str) -> Path:
        """The map of the same service, over another base."""
        return write_map(
            folder,
            self.service,
            kafka,
            base,
            self.tables,
            limits={"epoch_records": 1500, "keep_snapshots": 4},
        )


@pytest.fixture(scope="module")
def dump(kafka: KafkaBroker, hdfs: Hdfs, tmp_path_factory: pytest.TempPathFactory, form: Form) -> EpochLoop:
    service = f"t_{uuid.uuid4().hex[:10]}"
    base, tree = f"{hdfs.namenode_url}/{service}", HdfsTree(hdfs.client())
    kafka.create_topic(service, 2)
    records = [POISON if n % 400 == 9 else r for n, r in enumerate(flights()[: form.pick(6000, 20_000)])]
    stored = produce(kafka.bootstrap, service, records, 2)
    days = {"field": "time_hour", "path": "dt=%Y-%m-%d"}
    tables = [
        flights_table(f"{service}.{name}", service, bucket=days, dead_letter_share=1)
        for name in ("done", "half")
    ]
    made = EpochLoop(Picture(base, {}), service, tables, stored)
    config = made.map(tmp_path_factory.mktemp("dump"), kafka.bootstrap, base)
    ran = run_once(config)
    assert ran.code == 0, ran.log[-3000:]
    archived = command("recover", config)  # a start moves older snapshots into the archive
    assert archived.code == 0, archived.log
    undo_half_of_a_promote(tree, LedgerText(tree, ledger_root(base), made.half))
    return replace(made, picture=picture_of(tree, base))


def undo_half_of_a_promote(tree: Tree, ledger: LedgerText) -> None:
    """Bring the newest epoch back to the middle of its promote, as if the driver had died there."""
    newest = ledger.newest()
    name = f"{ledger.directory()}/e{newest['header'][0]['epoch']:06d}"
    tree.rename(f"{name}.final", f"{name}.pending")
    for file in newest["file"][::2]:
        tree.rename(file["final"], file["staged"])
    assert len(newest["file"]) > 1 and ledger.pending_epoch() is not None


@dataclass(frozen=True, slots=True)
class Auditor:
    """The use cases of `verify --contents` and `recover`, in this process: exit code and all they say. Nobody asks Hive."""

    wiring: Wiring

    def verify(self) -> tuple[ExitCode, list[str]]:
        result = verify(self.wiring, VerifyRequest(contents=True), None, None)
        found = [f"{t.table}: {f.code} {f.where}: {f.message}" for t in result.tables for f in t.findings]
        return result.exit_code, found + [f"{table}: {error}" for table, error in result.errors]

    def recover(self, plan_only: bool = False) -> tuple[ExitCode, list[str]]:
        result = recover_service(self.wiring, RecoverRequest(plan_only=plan_only))
        return result.exit_code, [f"{t.table}: {t.error}" for t in result.tables if t.error is not None]


def is_named(damage: Damage, answer: tuple[ExitCode, Sequence[str]]) -> bool:
    code, texts = answer
    return code != 0 and any(all(part in text for part in names) for names in damage.names for text in texts)


def damages(picture: Picture, dump: EpochLoop, count: int, chance: random.Random) -> Iterator[Damage]:
    """All kinds; each of the small ones `count` times."""
    homes = {t: location("", t).lstrip("/") for t in (dump.done, dump.half)}
    visible = in_order(
        p for p in picture.files if p.startswith("warehouse/") and p.endswith(".parquet.final")
    )
    staged = in_order(p for p in picture.files if "/_tmp/" in p)
    yield from file_damages(picture, visible, True, count, chance)
    yield from copies(picture, visible, count, chance)
    yield from file_damages(picture, staged, False, count, chance)
    for table, home in homes.items():
        ledger = Ledger(picture, table, home)
        yield from snapshot_damages(ledger, count, chance)
        yield from signed_edits(ledger, count, chance)
        yield from directory_damages(ledger, chance)
    yield pending_renamed(Ledger(picture, dump.half, homes[dump.half]))


def in_order(paths: Iterable[str]) -> list[str]:
    """In the same order for every dump: what is random in names does not count."""
    return sorted(paths, key=lambda path: re.sub(r"[0-9a-f]{8,}", "", path))


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Without the line that every change of a file is in the log."""
    caplog.set_level(logging.CRITICAL, "kafka2hive")


def whole(damage: Damage, dump: Picture, after: dict[str, bytes]) -> list[str]:
    """What of the damage is gone: bytes that lie nowhere, files that stand there again."""
    contents = Counter(after.values())
    gone = [
        path for path, data in damage.changes.items() if data is not None and data and data not in contents
    ]
    moved = set(damage.changes.values())
    back = [
        path
        for path, data in damage.changes.items()
        if data is None and path not in damage.remade and dump.files[path] not in moved
        if after.get(path) == dump.files[path]
    ]
    return gone + back


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("quiet")
def test_every_damage_is_reported_with_its_place_and_none_is_repaired_silently(
    dump: EpochLoop, kafka: KafkaBroker, tmp_path: Path, form: Form, figures: Figures
) -> None:
    seed = form.seed()
    chance = Chance(seed)
    folder = tmp_path / "dump"
    picture, local = dump.picture.under(folder.as_uri()), LocalDump(folder)
    wiring = wire(load_map(str(dump.map(tmp_path, kafka.bootstrap, picture.base)), {}))
    # on local disk nothing waits: thousands of threads would only cost
    auditor = Auditor(replace(wiring, ports=replace(wiring.ports, concurrency=Sequential())))
    local.lay(picture.files)
    assert auditor.verify() == (ExitCode.DONE, []), "the dump itself is not right"

    done, by_recover, by_verify, unreported, repaired = Counter[str](), 0, 0, [], []
    for damage in damages(picture, dump, form.count(2, 12), chance):
        local.lay(picture.changed(damage.changes))
        verified = is_named(damage, answer := auditor.verify())
        recovered = is_named(damage, told := auditor.recover())
        if not (verified or recovered):
            unreported.append(f"{damage.what}: verify {answer}, recover {told}")
        if lost := whole(damage, picture, local.files()):
            repaired.append(f"{damage.what}: {lost}")
        done[damage.kind] += 1
        by_verify, by_recover = by_verify + verified, by_recover + recovered
    note_kinds(figures, done)
    figures(damages=done.total(), by_verify=by_verify, by_recover=by_recover, unreported=len(unreported))
    assert not unreported, f"seed {seed}: {len(unreported)} of {done.total()}:\n" + "\n".join(unreported)
    assert not repaired, f"seed {seed}:\n" + "\n".join(repaired)
    assert done.total() >= 200

    believed = noticed = 0
    for table in (dump.done, dump.half):
        ledger = Ledger(picture, table, location("", table).lstrip("/"))
        for damage in believed_edits(ledger, form.count(2, 12), chance):
            local.lay(picture.changed(damage.changes))
            believed += 1
            noticed += auditor.verify()[0] != 0
    figures(believed_edits=believed, believed_edits_noticed=noticed)

    local.lay(picture.files)
    assert auditor.recover()[0] == ExitCode.DONE
    assert auditor.verify() == (ExitCode.DONE, []), f"seed {seed}: the dump was not put back"


def note_kinds(figures: Figures, done: Counter[str]) -> None:
    """Counts by the first word or two of a kind."""
    groups = Counter[str]()
    for kind, times in done.items():
        groups[kind.partition(":")[0].replace(" ", "_") + "s"] += times
    figures(kinds=len(done), **groups)


class HdfsDump:
    """Damages to the dump on HDFS itself: what is deleted is moved aside, and moved back."""

    def __init__(self, hdfs: Hdfs, base: str) -> None:
        self._tree = HdfsTree(hdfs.client())
        self._client = hdfs.client()
        self._base, self._root = base, base.removeprefix(hdfs.namenode_url)
        self._undo: list[Callable[[], object]] = []

    def damage(self, damage: Damage, picture: Picture) -> None:
        from hdfs_native import WriteOptions

        aside = f"{self._root}-aside"
        self._client.mkdirs(aside)
        for path, data in damage.changes.items():
            place, kept = f"{self._root}/{path}", f"{aside}/{uuid.uuid4().hex}"
            if path in picture.files:
                self._client.rename(place, kept)
                self._undo.append(partial(self._client.rename, kept, place))
            if data is not None:
                with self._client.create(place, WriteOptions()) as file:
                    file.write(data)
                self._undo.append(partial(self._client.delete, place))

    def put_back(self) -> None:
        while self._undo:
            self._undo.pop()()


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("quiet")
def test_damages_on_hdfs_are_reported_too_and_a_dump_put_back_is_exact(
    dump: EpochLoop, kafka: KafkaBroker, hdfs: Hdfs, tmp_path: Path, form: Form, figures: Figures
) -> None:
    seed = form.seed()
    chance = Chance(seed)
    config = dump.map(tmp_path, kafka.bootstrap, dump.picture.base)
    auditor, damaged = Auditor(wire(load_map(str(config), {}))), HdfsDump(hdfs, dump.picture.base)
    assert auditor.verify() == (ExitCode.DONE, [])
    few = [d for d in damages(dump.picture, dump, 3, chance) if len(d.changes) <= 2]
    by_kind = {d.kind: d for d in chance.sample(few, len(few))}
    kinds = list(by_kind.values())  # in no order
    chosen = form.pick(kinds[:42], kinds) + chance.sample(few, form.count(0, 200))
    by_command, unreported = 0, []
    for number, damage in enumerate(chosen):
        damaged.damage(damage, dump.picture)
        if number % form.pick(12, 5) == 0:
            told = command("verify", config, "--contents", "--json")
            texts = [
                f"{t['table']}: {f['code']} {f['where']}: {f['message']}"
                for t in told.document["tables"]
                for f in t["findings"]
            ]
            texts += [f"{e['table']}: {json.dumps(e)}" for e in told.document["errors"]]
            by_command += 1
            answers = [(ExitCode(told.code), texts)]
        else:
            answers = [auditor.verify()]
        if not is_named(damage, answers[-1]):
            answers.append(auditor.recover(plan_only=True))
            if not is_named(damage, answers[-1]):
                unreported.append(f"{damage.what}: {answers}")
        damaged.put_back()
    figures(damages=len(chosen), kinds=len(by_kind), by_command=by_command, unreported=len(unreported))
    assert not unreported, f"seed {seed}: {len(unreported)}:\n" + "\n".join(unreported)
    assert len(chosen) >= 40

    assert auditor.verify() == (ExitCode.DONE, []), f"seed {seed}: the dump was not put back"
    assert auditor.recover()[0] == ExitCode.DONE
    tree, base = HdfsTree(hdfs.client()), dump.picture.base
    good = {place: payload for place, payload in dump.stored.items() if payload != POISON}
    for table in (dump.done, dump.half):
        assert_settled(tree, ledger_root(base), table, location(base, table), ends_of(dump.stored))
        assert_exactly(tree, location(base, table), good, by_day)


def by_day(payload: bytes) -> tuple[str, dict[str, object]]:
    """A flight's bucket and row."""
    _, values = flight(payload)
    return f"dt={values['time_hour']:%Y-%m-%d}", values

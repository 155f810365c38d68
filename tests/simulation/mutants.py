"""Plausible mistakes, each as a small patch of one module, with a seed that catches it quickly.

If no schedule catches a mutant, the step is needless or the model too weak (docs/simulation.md). `seed` is the stored proof;
`scripts/simulate --mutants` searches again.
"""

from dataclasses import dataclass

from tests.simulation.seeds import SEEDS

LEDGER = "kafka2hive.ledger."
TAKE_OVER = LEDGER + "start"
LOOK = LEDGER + "look"
COMMIT = LEDGER + "epoch"
PROMOTE = LEDGER + "promote"
FILE_STATE = LEDGER + "promote"
FINALISE = LEDGER + "epoch"
CLEANUP = LEDGER + "cleanup"
DRAFT = LEDGER + "draft"
CERTIFY = LEDGER + "certify"
COMPLETENESS = LEDGER + "snapshot.completeness"
PLACES = LEDGER + "snapshot.compaction"
EARLY_FILES = LEDGER + "early_files"
RETIRE = LEDGER + "retire"
RETENTION = LEDGER + "retention"
EXPIRY = LEDGER + "snapshot.expiry"
WITHHELD = LEDGER + "snapshot.withheld"
NEWS = LEDGER + "news"
OUTBOX = "kafka2hive.service.news.outbox"
WITHHOLD = LEDGER + "withhold"
REBUILT_WAITING = LEDGER + "repair.waiting"
EPOCH = LEDGER + "epoch"
START = LEDGER + "start"
INIT = LEDGER + "init"
MARKER = LEDGER + "location"
RETRY = LEDGER + "ports"
OWNED_LEDGER = LEDGER + "owned_ledger"
HEARTBEAT = LEDGER + "heartbeat"
REGISTER = "kafka2hive.ledger.register"
CODEC = LEDGER + "snapshot.codec"
LINES = LEDGER + "snapshot.lines"
RESET = LEDGER + "repair.reset"
POSITIONS = "kafka2hive.kafka.positions"
CLUSTER_MOVES = "kafka2hive.kafka.cluster_moves"
LOCATION = LEDGER + "location"
REBUILD = LEDGER + "repair.rebuild"
SERVICE = "kafka2hive.service."
RECOVER = SERVICE + "recover.table"
REPAIR = SERVICE + "recover.repair"
COMPACTED = LEDGER + "repair.compacted"
WITHDRAWAL = LEDGER + "repair.withdrawal"
BACKLOGS = SERVICE + "run.backlogs"
EPOCHS = SERVICE + "run.epochs"
COMPLETION = SERVICE + "run.completion"
MAP_RELOAD = SERVICE + "run.map_reload"
OWNED_TABLES = SERVICE + "run.owned_tables"
ONCE = SERVICE + "run.once"
KAFKA_VIEW = SERVICE + "topics.kafka_view"
TABLES = SERVICE + "topics.routes"
STATUS = SERVICE + "inspect.status"
ROUTE = "kafka2hive.config.route"
GATE = SERVICE + "run.hive_gate"
HIVE_SCHEMAS = SERVICE + "hive.schemas"
RESULT = SERVICE + "run.result"
TABLE_STEPS = SERVICE + "run.table_steps"
TABLE_GUARD = SERVICE + "run.table_guard"
STOPPED_TABLES = SERVICE + "run.stopped_tables"
LIVENESS = SERVICE + "run.telemetry.liveness"
STOPPED = SERVICE + "tables.live_stop"
READ_THROUGH = SERVICE + "tables.read_through"
MANIFESTS = SERVICE + "tables.manifests"
TASKS = "tests.simulation.tasks"
INBOX = LEDGER + "inbox"
ORDERS = SERVICE + "orders.answers"
INBOX_WATCH = SERVICE + "run.inbox_watch"
REPLAYS = SERVICE + "replay.chore"
REPLAYED = SERVICE + "replay.letter_files"
REPLAY_COMMAND = SERVICE + "replay.command"
COMPACTING = SERVICE + "compaction.chore"
RETIREMENT = SERVICE + "compaction.retirement"
HISTORY = LEDGER + "history"
ORDER = SERVICE + "orders.delivery"
UNITS = SERVICE + "compaction.units"
RETIRING = SERVICE + "compaction.retirement"
RETAINING = SERVICE + "retention.chore"
DROPPED = SERVICE + "hive.dropped"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake. `edits` are (old, new) texts of `module`; if an old text is not there exactly once, loading fails.

    Schedules of `kind` notice it.
    """

    name: str
    module: str
    edits: tuple[tuple[str, str], ...]
    seed: int = 0
    kind: str = "ledger"


def _mutant(name: str, module: str, *edits: tuple[str, str], kind: str = "ledger") -> Mutant:
    return Mutant(name, module, edits, SEEDS.get(name, 0), kind)


def _of_compaction(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="compaction")


def _of_retention(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="retention")


def _of_complete(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="complete")


def _of_news(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="news")


def _of_services_that_complete(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="complete-services")


def _of_damage(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="damage")


def _of_service(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="service")


def _of_orders(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="orders")


def _of_reload(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="reload")


def _of_replay(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return _mutant(name, module, *edits, kind="replay")


_MARKER_IMPORT = "from kafka2hive.ledger.location import claim_location\n"
_ORPHANS_TOO = (
    "from kafka2hive.ledger.cleanup import clean_up, delete_beside_pending\n",
    "from kafka2hive.ledger.cleanup import clean_up, delete_beside_pending, delete_orphans\n"
    "from kafka2hive.model.paths.table_directory import staging_directory\n",
)
_LOOK_TOO = (_MARKER_IMPORT, "from kafka2hive.ledger.look import look\n" + _MARKER_IMPORT)
_TAKE = "        files.rename(paths.generation(old), directory)\n"

MUTANTS = (
    # R1: init
    _mutant(
        "init builds the ledger in place",
        INIT,
        (
            "draft = paths.draft(ports.new_uuid())\n        generation = join(draft, FIRST",
            "draft = paths.table_directory\n        generation = join(draft, FIRST",
        ),
        (
            "service, location)))\n            ports.files.rename(draft, paths.table_directory)\n",
            "service, location)))\n",
        ),
    ),
    _mutant(
        "a marker without a ledger is believed at the first look",
        MARKER,
        ("if owner is not None and not is_there(files, table_directory):", "if owner is not None:"),
    ),
    # R2, R3: take-over
    _mutant(
        "take-over by copy",
        TAKE_OVER,
        (
            _TAKE,
            "        files.mkdirs(directory)\n"
            "        for child in files.list(paths.generation(old)):\n"
            "            copy = files.create(join(directory, child.name))\n"
            "            copy.write(files.read(child.path))\n"
            "            copy.close()\n"
            "            files.delete(child.path)\n"
            "        files.delete(paths.generation(old))\n",
        ),
    ),
    _mutant(
        "take-over file by file",
        TAKE_OVER,
        (
            _TAKE,
            "        files.mkdirs(directory)\n"
            "        for child in files.list(paths.generation(old)):\n"
            "            files.rename(child.path, join(directory, child.name))\n"
            "        files.delete(paths.generation(old))\n",
        ),
    ),
    _mutant(
        "state read before taking",
        TAKE_OVER,
        (_TAKE, "        before = files.list(paths.generation(old))\n" + _TAKE),
        (
            "        children = files.list(directory)\n    except NotFound:",
            "        files.list(directory)\n        children = before\n    except NotFound:",
        ),
    ),
    _mutant(
        "a generation that is there is taken for mine without the uuid",
        TAKE_OVER,
        (
            "        raise _take_over_failure(\n"
            "            files=files, paths=paths, old=old, failure=failure, own_names=own_names\n"
            "        ) from failure\n",
            "        generation = the_generation(files, paths)\n"
            "        directory = paths.generation(generation)\n"
            "        children = files.list(directory)\n",
        ),
    ),
    _mutant(
        "generation names without owner",
        TAKE_OVER,
        (
            "_compact(ports.clock.now()), owner)",
            '_compact(ports.clock.now()), "sim-1-00000000000000000000000000000000")',
        ),
    ),
    _mutant(
        "a name that this process made is taken for another's",
        TAKE_OVER,
        ("    if present.owner in own_names:\n", "    if False:\n"),
    ),
    _mutant(
        "the generation's number is not raised",
        TAKE_OVER,
        ("generation = Generation(old.number + 1,", "generation = Generation(old.number,"),
    ),
    _mutant("the oldest final snapshot is the state", LOOK, ("newest = max(finals)", "newest = min(finals)")),
    _mutant("pending taken for not committed", LOOK, ("    if not above:\n", "    if above or not above:\n")),
    _mutant(
        "a pending below the newest final is rolled forward",
        LOOK,
        (
            "if state == SnapshotState.PENDING and epoch > newest]",
            "if state == SnapshotState.PENDING]",
        ),
        ("    if above != [newest + 1]:", "    if len(above) > 1:"),
        ("    return NewestSnapshot(newest + 1, True)", "    return NewestSnapshot(above[0], True)"),
    ),
    # C1, C2: commit
    _mutant(
        "the draft's directory is made when it is missing",
        COMMIT,
        (
            "            write_file(ports.files, draft, data)\n",
            "            ports.files.mkdirs(owned.directory)\n            write_file(ports.files, draft, data)\n",
        ),
    ),
    _mutant(
        "a draft's error taken for success",
        COMMIT,
        (
            '            log.warning("write %s: %s", draft, error)\n            return answer_to(error)\n',
            "            return Answer.DONE\n",
        ),
    ),
    _mutant(
        "a draft's name reused",
        COMMIT,
        ("draft_name(epoch, ports.new_uuid())", 'draft_name(epoch, "0" * 32)'),
        (
            '            log.warning("write %s: %s", draft, error)\n',
            "            if type(error).__name__ == 'AlreadyExists':\n                return Answer.DONE\n",
        ),
    ),
    _mutant(
        "commit error taken for success",
        COMMIT,
        ('            log.warning("commit %s: %s", pending, error)\n', "            return Answer.DONE\n"),
    ),
    _mutant(
        "commit's lost reply taken for failure",
        COMMIT,
        (
            "    _rename_to_pending(ports=ports, owned=owned, epoch=snapshot.epoch, draft=draft_path, data=data)\n",
            "    try:\n"
            "        ports.files.rename(draft_path, owned.snapshot_path(snapshot.epoch, SnapshotState.PENDING))\n"
            "    except AlreadyExists:\n"
            "        pass\n"
            "    except StorageError:\n"
            "        return owned\n",
        ),
        ("import ParentMissing, StorageError", "import AlreadyExists, ParentMissing, StorageError"),
    ),
    _mutant(
        "commit not renamed",
        COMMIT,
        ("            ports.files.rename(draft, pending)\n", "            pass\n"),
    ),
    _mutant(
        "commit with overwrite",
        COMMIT,
        (
            "            ports.files.rename(draft, pending)\n",
            "            ports.files.delete(pending)\n            ports.files.rename(draft, pending)\n",
        ),
    ),
    _mutant(
        "following the moved directory after being fenced",
        COMMIT,
        (
            "        draft = join(owned.directory, draft_name",
            "        draft = join(ports.files.list(owned.paths.table_directory)[0].path, draft_name",
        ),
        (
            "    pending = owned.snapshot_path(epoch, SnapshotState.PENDING)\n",
            "    pending = draft.rsplit('/', 1)[0] + owned.snapshot_path(epoch, SnapshotState.PENDING)[-16:]\n",
        ),
    ),
    _mutant(
        "a fenced run takes the table back and goes on without reading again",
        EPOCH,
        (
            "    return roll_forward(ports, commit(ports, owned, snapshot))\n",
            "    try:\n"
            "        return roll_forward(ports, commit(ports, owned, snapshot))\n"
            "    except Fenced:\n"
            "        there = ports.files.list(owned.paths.table_directory)[0]\n"
            "        number = Generation.parse(there.name).number + 1\n"
            "        mine = replace(owned, generation=replace(owned.generation, number=number))\n"
            "        ports.files.rename(there.path, mine.directory)\n"
            "        return roll_forward(ports, commit(ports, mine, replace(snapshot, generation=number)))\n",
        ),
        (
            "from dataclasses import dataclass\n",
            "from dataclasses import dataclass, replace\n"
            "from kafka2hive.model.errors import Fenced\n"
            "from kafka2hive.model.paths.ledger import Generation\n",
        ),
    ),
    _mutant(
        "promote before commit",
        EPOCH,
        (
            "    return roll_forward(ports, commit(ports, owned, snapshot))\n",
            "    promote(ports, owned, snapshot.files)\n"
            "    return roll_forward(ports, commit(ports, owned, snapshot))\n",
        ),
    ),
    # R4, R6: roll forward, promote
    _mutant(
        "no roll-forward",
        START,
        (
            "    published = _roll_forward(ports, owned, given_up)\n",
            "    published = Publication(finalise(ports, owned) if owned.pending else owned, FileMoves())\n",
        ),
        ("import Publication, roll_forward\n", "import Publication, finalise, roll_forward\n"),
    ),
    _mutant(
        "a start's roll-forward is forgotten and the state called final",
        START,
        (
            "    published = _roll_forward(ports, owned, given_up)\n",
            "    published = Publication(owned.finalised(), FileMoves())\n",
        ),
    ),
    _mutant(
        "final before promoted",
        EPOCH,
        (
            "    moves = promote(ports, owned, files, given_up)\n",
            "    moves = FileMoves()\n",
        ),
        (
            "    final = finalise(ports, owned)\n",
            "    final = finalise(ports, owned)\n    moves = promote(ports, owned, files, given_up)\n",
        ),
    ),
    _mutant(
        "the final place is looked at before the staged one",
        FILE_STATE,
        (
            "    staged = length_at(files, file.staged)\n    final = length_at(files, file.final)\n",
            "    final = length_at(files, file.final)\n    staged = length_at(files, file.staged)\n",
        ),
    ),
    _mutant(
        "both missing is STOP without asking whether my directory is still mine",
        PROMOTE,
        ("        list_own_directory(files, owned)\n        raise state\n", "        raise state\n"),
    ),
    _mutant(
        "promote errors ignored",
        PROMOTE,
        (
            '            log.debug("promote %s epoch %d: %s", file.final, owned.state.epoch, error)\n',
            "            return Answer.DONE\n",
        ),
    ),
    _mutant(
        "the first file already moved means all are",
        PROMOTE,
        (
            "    retries = [0]\n",
            "    retries = [0]\n    if files and files[0].staged not in lengths:\n        return FileMoves()\n",
        ),
    ),
    _mutant(
        "a staged length that differs is STOP without looking at the final place",
        PROMOTE,
        ("            final = length_at(ports.files, file.final)\n", "            final = None\n"),
    ),
    _mutant(
        "the final place is cleared before the move",
        PROMOTE,
        (
            "            in_its_directory(\n                ports.files, file.final,",
            "            ports.files.delete(file.final)\n"
            "            in_its_directory(\n                ports.files, file.final,",
        ),
    ),
    _mutant(
        "out of attempts taken for done",
        RETRY,
        (
            "                if wait is None:\n",
            "                if wait is None:\n                    return\n",
        ),
    ),
    # R7: finalise
    _mutant(
        "finalise error ignored",
        FINALISE,
        ('            log.warning("finalise %s: %s", final, error)\n', "            return Answer.DONE\n"),
    ),
    _mutant(
        "the next epoch does not wait for the final name",
        EPOCH,
        (
            "    final = finalise(ports, owned)\n",
            "    final = owned.finalised()\n",
        ),
    ),
    # R11: dead letters come back
    _of_replay(
        "letters are hidden before their rows are promoted",
        EPOCH,
        (
            "    moves = promote(ports, owned, files, given_up)\n    hide_replayed(ports, owned)\n",
            "    hide_replayed(ports, owned)\n    moves = promote(ports, owned, files, given_up)\n",
        ),
    ),
    _of_replay("replayed letters stay visible", EPOCH, ("    hide_replayed(ports, owned)\n", "")),
    _of_replay(
        "letters are hidden once the epoch is final",
        EPOCH,
        (
            "    hide_replayed(ports, owned)\n    anchor(ports, owned)\n    final = finalise(ports, owned)\n",
            "    anchor(ports, owned)\n    final = finalise(ports, owned)\n    hide_replayed(ports, final)\n",
        ),
    ),
    _of_replay(
        "a lost answer to a hiding counts as hidden",
        PROMOTE,
        (
            "return Answer.DONE if _is_hidden(ports.files, path, hidden) else answer_to(error)",
            "return Answer.DONE",
        ),
    ),
    _of_replay(
        "letters that were hidden already are looked for where they were",
        PROMOTE,
        (
            "return length_at(files, path) is None or length_at(files, hidden) is not None",
            "return length_at(files, path) is not None and length_at(files, hidden) is not None",
        ),
    ),
    _of_replay(
        "a later epoch repeats what was replayed",
        DRAFT,
        (
            "line.attribute: () for line in LINES if line.life is Life.EPOCH and line is not HEADER",
            "line.attribute: () for line in LINES if line.life is Life.EPOCH and line.tag not in (HEADER.tag, 'replayed')",
        ),
    ),
    _of_replay(
        "the counts of a batch are noted twice",
        REPLAYS,
        (
            "running = progress_after(work.running, batch.replayed)",
            "running = progress_after(progress_after(work.running, batch.replayed), batch.replayed)",
        ),
    ),
    _of_replay(
        "a batch that is committed is decoded again",
        REPLAYS,
        ("        for _ in planned:\n            work.files.popleft()\n", ""),
    ),
    _of_replay(
        "a batch whose commit had no clear answer is decoded again",
        REPLAYS,
        ("        self._works.pop(table.name, None)  #", "        pass  #"),
        ("        if work.generation != ledger.generation.number:\n", "        if False:\n"),
    ),
    _of_replay(
        "a batch that failed as a whole counts as done",
        REPLAYS,
        (
            "            work.in_flight = {}\n            was_alone",
            "            for _ in work.in_flight:\n                work.files.popleft()\n"
            "            work.in_flight = {}\n            was_alone",
        ),
    ),
    _of_replay(
        "a batch without an answer counts as done",
        REPLAYED,
        ("if manifest.failure and manifest.failure.code not in", "if False and manifest.failure.code not in"),
    ),
    _of_replay(
        "files that stay are counted again with a batch that is repeated",
        REPLAYS,
        (
            "untouched = replace(work.untouched, not_read=list(work.untouched.not_read))",
            "untouched = work.untouched",
        ),
    ),
    _of_replay(
        "a search for letters that was interrupted counts as ended",
        REPLAYS,
        (
            "                work.search = self._new_search(ledger, work.letters)\n",
            "                work.files = deque(oldest_first(work.letters))\n",
        ),
    ),
    _of_replay(
        "a search for letters ends with its time",
        REPLAYS,
        (
            "            if clock.monotonic() > until:\n                return\n",
            "            if clock.monotonic() > until:\n                break\n",
        ),
    ),
    _of_replay(
        "the next owner begins the counts of a replay anew",
        REPLAYS,
        ("        if known is None or known.order != order.id:\n", "        if True:\n"),
    ),
    _of_replay(
        "a command records the progress of an order",
        REPLAY_COMMAND,
        ("replace(change, compared=self.compared, running=None)", "replace(change, compared=self.compared)"),
    ),
    _of_replay(
        "a command publishes the first file of its batch",
        REPLAY_COMMAND,
        ("chore.publish(table, manifests)", "chore.publish(table, manifests[:1])"),
    ),
    _of_replay(
        "a command counts an epoch twice",
        REPLAY_COMMAND,
        (
            "                result.epochs.append(table.owned.state.epoch)\n",
            "                result.epochs += [table.owned.state.epoch] * 2\n",
        ),
    ),
    # R8: Hive
    _mutant(
        "pending registrations not carried",
        DRAFT,
        (
            "(pending - gone | partitions_of(changed.files)) -",
            "partitions_of(changed.files) -",
        ),
    ),
    _mutant(
        "own partitions not among the pending registrations",
        DRAFT,
        ("(pending - gone | partitions_of(changed.files)) -", "pending -"),
    ),
    _mutant(
        "pending registrations forgotten when Hive fails",
        REGISTER,
        ("        self.unavailable.update(partitions)\n", "        self.registered.update(partitions)\n"),
    ),
    _mutant(
        "a lost answer of Hive taken for done",
        REGISTER,
        (
            "        except MetastoreUnavailable as error:\n            self._keep_pending(error, batch)\n",
            "        except MetastoreUnavailable:\n            self.registered.update(batch)\n",
        ),
    ),
    # R12: Hive's table was created again
    _of_service(
        "the partitions of a table that was created again are not registered again",
        OWNED_TABLES,
        ("lapsed = self._lapsed(table, compared)", "lapsed = frozenset()"),
    ),
    _of_service(
        "a time of creation is recorded before its partitions are registered again",
        OWNED_TABLES,
        (
            "        lapsed = self._lapsed(table, compared)\n",
            "        lapsed = self._lapsed(table, compared)\n"
            "        if lapsed:\n"
            "            first = RegistrationUpdate(registered=owned.registered, compared=compared)\n"
            "            owned = replace(owned, ledger=self._commit(table, owned, first).owned)\n",
        ),
    ),
    _of_service(
        "lapsed partitions are registered at their next data only",
        DRAFT,
        (" - registered | lapsed", " - registered"),
    ),
    _of_service(
        "pending registrations of a final snapshot ignored by the start",
        OWNED_TABLES,
        (
            "settings, started.moves, table.open_registrations)",
            "settings, started.moves, table.open_registrations if started.rolled_forward is not None else frozenset())",
        ),
    ),
    _mutant(
        "what Hive has confirmed is not recorded",
        DRAFT,
        ('"registered": tuple(sorted(registered))', '"registered": ()'),
    ),
    _mutant(
        "columns that were added before are not carried",
        DRAFT,
        ("added=state.added + change.added", "added=change.added"),
    ),
    _mutant(
        "a snapshot does not name the one before it",
        DRAFT,
        ("previous=checksum_of(state),", "previous=state.previous,"),
    ),
    # R9: cleanup
    _mutant(
        "orphans deleted before the take-over",
        START,
        (
            "    owned = take_over(\n",
            "    view = look(ports.files, request.paths)\n"
            "    guess = OwnedLedger(request.paths, Generation(view.generation.number + 1), view.state)\n"
            "    delete_orphans(ports, guess, staging_directory(request.location))\n"
            "    owned = take_over(\n",
        ),
        _LOOK_TOO,
        _ORPHANS_TOO,
    ),
    _mutant(
        "orphans deleted by somebody who does not own the table",
        START,
        (
            "    owned = take_over(\n",
            "    view = look(ports.files, request.paths)\n"
            "    guess = OwnedLedger(request.paths, view.generation, view.state)\n"
            "    delete_orphans(ports, guess.committed(view.state).finalised(), staging_directory(request.location))\n"
            "    owned = take_over(\n",
        ),
        _LOOK_TOO,
        _ORPHANS_TOO,
    ),
    _mutant(
        "orphans deleted before the roll-forward",
        START,
        (
            "    published = _roll_forward(",
            "    delete_orphans(ports, owned.finalised(), staging_directory(location))\n"
            "    published = _roll_forward(",
        ),
        _ORPHANS_TOO,
    ),
    _mutant(
        "the running epoch's files deleted as orphans",
        CLEANUP,
        ("name.epoch) < current", "name.epoch) <= current"),
    ),
    _mutant(
        "newer generations' files deleted as orphans",
        CLEANUP,
        (
            "(name.generation, name.epoch) < current",
            "name.generation != current[0] or name.epoch < current[1]",
        ),
    ),
    _mutant(
        "another ledger's files deleted as orphans",
        CLEANUP,
        ("if parsed and parsed[0].ledger == tag and is_orphan", "if parsed and is_orphan"),
    ),
    _mutant(
        "the staged files of an epoch whose commit was tried are deleted",
        CLEANUP,
        ("    if owned.is_spent:\n        return 0\n", ""),
        kind="service",
    ),
    _mutant(
        "to make room, the files of the pending epoch are deleted, too",
        CLEANUP,
        (" and base_name(path) not in named", ""),
    ),
    _mutant(
        "no orphan is deleted", CLEANUP, ("            orphans.append(child.path)\n", "            pass\n")
    ),
    _mutant(
        "stale drafts and pendings are not deleted",
        CLEANUP,
        ("            junk.append(child.path)\n", "            pass\n"),
    ),
    _mutant("the newest final is archived", CLEANUP, ("sorted(finals)[: -max(keep, 1)]", "sorted(finals)")),
    _mutant(
        "a pending snapshot is archived",
        START,
        (
            "    published = _roll_forward(",
            "    if owned.pending:\n"
            "        archive = owned.paths.archive(owned.generation)\n"
            "        try:\n"
            "            ports.files.mkdirs(archive)\n"
            "            ports.files.rename(owned.state_path, archive + owned.state_path[-16:])\n"
            "        except StorageError as error:\n"
            "            raise AmbiguousOutcome('mutant', 'again') from error\n"
            "    published = _roll_forward(",
        ),
    ),
    _mutant(
        "old finals are deleted, not archived",
        CLEANUP,
        (
            "        ports.files.rename(path, join(archive, base_name(path)))\n",
            "        ports.files.delete(path)\n",
        ),
    ),
    _mutant("one final less is kept", CLEANUP, ("[: -max(keep, 1)]", "[: -max(keep - 1, 1)]")),
    # T: tasks (the simulation's own)
    _mutant(
        "task error taken for success",
        TASKS,
        (
            "        except StorageError:\n            return None\n",
            "        except StorageError:\n            pass\n",
        ),
    ),
    _mutant(
        "both twin attempts taken",
        TASKS,
        (
            "        if staged is not None:\n            return staged\n",
            "        if staged is not None:\n            twin = world.random() < world.rates.twin\n"
            "            return staged + (run_attempt(world, files, share) or () if twin else ())\n",
        ),
    ),
    _mutant(
        "a staged name deleted before it is written",
        TASKS,
        (
            "        files.rename(writing, file.staged)\n",
            "        files.delete(file.staged)\n        files.rename(writing, file.staged)\n",
        ),
    ),
    _mutant(
        "one name for all attempts of a task",
        TASKS,
        ("describe(world.uuid(), ", 'describe(f"{crc32(place.location.encode()):032x}", '),
        (
            "    try:\n        write_file(files, writing, data)\n",
            "    try:\n        files.delete(writing)\n        write_file(files, writing, data)\n",
        ),
    ),
    # whole processes: their ends, retries, fencing and memory
    _of_service(
        "the checked generation is ignored",
        TAKE_OVER,
        ("    if checked is not None and old != checked:\n", "    if False:\n"),
    ),
    _of_service(
        "a directory that is gone at C1 is tried again",
        COMMIT,
        (
            "        except ParentMissing as error:\n"
            "            raise fenced(owned.paths, owned.generation) from error\n",
            "",
        ),
    ),
    _of_service(
        "the own directory gone is R0, not fenced",
        OWNED_LEDGER,
        (
            "        raise fenced(owned.paths, owned.generation) from error\n",
            "        raise StateUnknown('mutant', 'again') from error\n",
        ),
    ),
    _of_service(
        "a NameNode that does not answer is taken for a fence",
        OWNED_LEDGER,
        (
            '        raise StateUnknown("ledger.no_answer", f"listing {owned.directory}: {error}") from error\n',
            "        raise fenced(owned.paths, owned.generation) from error\n",
        ),
    ),
    _of_service(
        "a lost take-over is R0", TAKE_OVER, ("    return TakeOverLost(\n", "    return AmbiguousOutcome(\n")
    ),
    _of_service(
        "an unclear take-over is lost",
        TAKE_OVER,
        (
            '    return AmbiguousOutcome(\n        "ledger.not_taken"',
            '    return TakeOverLost(\n        "ledger.not_taken"',
        ),
    ),
    _of_service(
        "the owner marker is never made",
        START,
        ("    claim_location(ports, location, owned.state)\n", ""),
    ),
    _of_service(
        "the memory of a table is kept after an error",
        OWNED_TABLES,
        ("            if published is None:\n                self.forget(table)\n", "            pass\n"),
    ),
    _of_service(
        "a bug in the work on one table ends the run",
        TABLE_GUARD,
        (
            "        if isinstance(outcome, Exception):\n",
            "        if isinstance(outcome, Exception):\n            raise outcome\n",
        ),
    ),
    _of_service(
        "a bug of one table is taken for that of another",
        TABLE_GUARD,
        (
            "        self._owned_tables.set_aside(table, error)\n\n    def _lost",
            "        for each in self._owned_tables.tables.values():\n"
            "            self._owned_tables.set_aside(each, error)\n\n    def _lost",
        ),
    ),
    _of_service(
        "a table that is lost to another run waits",
        TABLE_GUARD,
        ("if owner is not None and not is_of_command(owner):", "if False:"),
    ),
    _of_service(
        "what a start finds unregistered is not registered",
        OWNED_TABLES,
        (
            "TableStart(table.name, settings, started.moves, table.open_registrations)",
            "TableStart(table.name, settings, started.moves, frozenset())",
        ),
    ),
    _of_service(
        "what an epoch leaves unregistered is not registered",
        OWNED_TABLES,
        (
            "TablePublication(table.name, published.moves, table.owned.state, table.open_registrations)",
            "TablePublication(table.name, published.moves, table.owned.state, frozenset())",
        ),
    ),
    _of_service(
        "a start forgets what is unregistered",
        OWNED_TABLES,
        (
            "Owned(started.owned, settings)",
            "Owned(started.owned, settings, registered=frozenset(started.owned.state.unregistered))",
        ),
    ),
    _of_service(
        "registrations reported by the registrar stay open",
        OWNED_TABLES,
        (
            "registered=table.owned.registered | confirmed)",
            "registered=table.owned.registered)",
        ),
    ),
    _of_service(
        "registrations without new data are never noted",
        TABLE_STEPS,
        (
            "is_new = bool(table.owned.registered) or ",
            "is_new = ",
        ),
    ),
    _of_service(
        "first positions are not committed",
        BACKLOGS,
        (
            "            self._publish(table, before)\n",
            "            pass\n",
        ),
    ),
    _of_service(
        "a heartbeat that stands still is taken for a live owner",
        HEARTBEAT,
        ("beat.count > before[beat.owner].count:", "beat.count >= before[beat.owner].count:"),
    ),
    _of_service(
        "tables of the epoch after the first are not published",
        EPOCHS,
        (
            "if isinstance(table.ownership, Owned)],\n                lambda table: self._publish_or_clean_up(",
            "if table is tables[0]],\n                lambda table: self._publish_or_clean_up(",
        ),
    ),
    _of_service(
        "a table that was set aside is never taken over again",
        OWNED_TABLES,
        ("if not t.is_held and not t.is_waiting(now)]", "if not t.is_held and t.aside is None]"),
    ),
    # damage: a missing STOP, or one that changes something
    _of_damage(
        "a staged file's length is not looked at",
        PROMOTE,
        ("        if staged is not None and staged != file.length:\n", "        if False:\n"),
    ),
    _of_damage(
        "any file at the final place is taken for the moved one",
        FILE_STATE,
        ("    if final == file.length:\n", "    if final is not None:\n"),
    ),
    _of_damage(
        "a staged file that is nowhere is taken for moved",
        FILE_STATE,
        (
            "    return stop_for(MISSING, table, file,",
            '    return FileState.MOVED if True else stop_for("", table, file,',
        ),
    ),
    _of_damage(
        "a promote without a source is taken for done",
        PROMOTE,
        (
            '            log.debug("promote %s epoch %d: %s", file.final, owned.state.epoch, error)\n',
            "            if type(error).__name__ == 'NotFound':\n                return Answer.DONE\n",
        ),
    ),
    _of_damage(
        "a promote whose place is taken counts as done",
        PROMOTE,
        (
            '            log.debug("promote %s epoch %d: %s", file.final, owned.state.epoch, error)\n',
            "            if type(error).__name__ == 'AlreadyExists':\n                return Answer.DONE\n",
        ),
    ),
    _of_damage(
        "the checksum of a snapshot is not compared",
        CODEC,
        ("    if tail != _CHECKSUM + hashlib", "    if not tail and _CHECKSUM + hashlib"),
    ),
    _of_damage(
        "a pending snapshot of any later epoch is the state",
        LOOK,
        ("    if above != [newest + 1]:\n", "    if len(above) != 1:\n"),
        ("    return NewestSnapshot(newest + 1, True)", "    return NewestSnapshot(above[0], True)"),
    ),
    _of_damage(
        "the first of several generation directories will do",
        LOOK,
        ("    if len(generations) != 1:\n", "    if not generations:\n"),
    ),
    _of_damage(
        "a ledger that vanished is begun anew",
        MARKER,
        ("if owner is not None and not is_there(files, table_directory):", "if False:"),
    ),
    _of_damage(
        "an older ledger that was put back is taken for the newest",
        LEDGER + "repair.older_ledger",
        ("    if not newer:\n        return\n    now =", "    if True:\n        return\n    now ="),
    ),
    _of_damage(
        "an unreadable owner marker counts as none",
        MARKER,
        (
            "        raise ManualActionRequired(\n"
            '            "marker.damaged", f"{path} is not an owner marker", "restore the file, or move it away by hand"\n'
            "        ) from error\n",
            "        return None\n",
        ),
    ),
    _of_damage(
        "the place that Hive has is not compared",
        REGISTER,
        ("            elif same_location(where, partition.location):", "            elif where:"),
    ),
    _of_damage(
        "accepted gaps are not carried",
        DRAFT,
        ("        **{**_EMPTY_EPOCH,", "        gaps=(),\n        **{**_EMPTY_EPOCH,"),
    ),
    _of_damage(
        "the former name of a cluster is not noticed",
        POSITIONS,
        ("        if others:", "        if False:"),
    ),
    _of_damage(
        "a renamed cluster goes on before the offset where it was",
        CLUSTER_MOVES,
        ("topic_partition=tp, start=p.end)", "topic_partition=tp, start=p.start, end=p.start)"),
    ),
    _of_damage(
        "a renamed cluster goes on without a record",
        CLUSTER_MOVES,
        ("tuple(positions), tuple(gaps))", "tuple(positions))"),
    ),
    _of_damage(
        "positions stay under a cluster's former name",
        DRAFT,
        ("        left = positions.pop(", "        left = positions.get("),
    ),
    _of_damage(
        "where a topic partition goes on is not encoded",
        LINES,
        ('    Field("moved_to", since=12),\n', ""),
    ),
    _of_damage(
        "accepted losses are not carried",
        DRAFT,
        ("        **{**_EMPTY_EPOCH,", "        losses=(),\n        **{**_EMPTY_EPOCH,"),
    ),
    _of_damage(
        "accepted gaps are not encoded",
        CODEC,
        ("in _values(snapshot, line)]\n\n\ndef", 'in _values(snapshot, line) if line.tag != "gap"]\n\n\ndef'),
    ),
    _of_damage(
        "accepted losses are not encoded",
        CODEC,
        (
            "in _values(snapshot, line)]\n\n\ndef",
            'in _values(snapshot, line) if line.tag != "loss"]\n\n\ndef',
        ),
    ),
    _of_damage(
        "one file that is given up leaves all others out",
        PROMOTE,
        ("        if file.final in given_up:\n", "        if given_up:\n"),
    ),
    _of_damage(
        "a file that is given up is promoted all the same",
        PROMOTE,
        ("        if file.final in given_up:\n", "        if False:\n"),
    ),
    _of_damage(
        "a repair is rolled forward and not recorded",
        RECOVER,
        (
            "    if repair.losses or repair.gaps or repair.positions:\n",
            "    if repair.gaps or repair.positions:\n",
        ),
    ),
    _of_damage(
        "a file dumped again is not committed",
        REPAIR,
        (", files=tuple(files), losses=tuple(losses))", ", losses=tuple(losses))"),
    ),
    _of_damage(
        "a repair drops what is unregistered",
        RECOVER,
        (
            "        owned = publish(wiring.ports, owned, repair).owned\n",
            "        repair = replace(repair, registered=frozenset(owned.state.unregistered))\n"
            "        owned = publish(wiring.ports, owned, repair).owned\n",
        ),
    ),
    _of_damage(
        "a rebuilt ledger says nothing of a half-promoted epoch",
        REBUILD,
        (
            "    staged = [task for task in tasks if not all(f.final for f in task.every_file)]\n",
            "    staged = []\n",
        ),
    ),
    _of_damage(
        "a rebuilt ledger uses an epoch's number again",
        REBUILD,
        ("    epoch = max(epoch for _, epoch in names) + 1\n", "    epoch = 0\n"),
    ),
    _of_damage(
        "a rebuilt ledger tells Hive nothing",
        REBUILD,
        (
            "        unregistered=tuple(sorted(unregistered | partitions_of(files))),\n",
            "        unregistered=tuple(sorted(unregistered)),\n",
        ),
    ),
    _of_damage(
        "a STOP of one table ends the run",
        TABLE_GUARD,
        (
            "        except OwnedByLiveRun:\n",
            "        except (OwnedByLiveRun, ManualActionRequired):\n",
        ),
        ("        except (TableError, ManualActionRequired, Amb", "        except (TableError, Amb"),
    ),
    _of_service(
        "an idle run never looks whether it was fenced",
        EPOCHS,
        ("            self._steps.look_for_fence()\n", ""),
    ),
    _of_service(
        "a run that was fenced ends as if a service were away",
        RESULT,
        (
            "        return error.exit_code if isinstance(error, Kafka2HiveError) else ExitCode.BUG\n",
            "        return ExitCode.UNAVAILABLE\n",
        ),
    ),
    _of_damage(
        "a table that waits for a person is one that is tried again",
        RESULT,
        ("        return ExitCode.STOP\n", "        return ExitCode.SET_ASIDE\n"),
    ),
    _of_damage(
        "a table that may not be written ends the run",
        TABLE_GUARD,
        ("        except OwnedByLiveRun:\n", "        except (OwnedByLiveRun, TableError):\n"),
        (
            "        except (TableError, ManualActionRequired, Amb",
            "        except (ManualActionRequired, Amb",
        ),
    ),
    _of_damage(
        "a registration that was given up stays owed",
        DRAFT,
        (" - given_up - frozenset", " - frozenset"),
    ),
    _of_damage(
        "a table that is started over keeps the archived snapshots",
        RESET,
        ("        (paths.archives, join(paths.reset(record.id), ARCHIVE_DIRECTORY)),\n", ""),
    ),
    _of_damage(
        "a table that is started over keeps its visible files",
        RESET,
        ("        moves += [(path, join(aside, base_name(path))) for path in visible]\n", ""),
    ),
    _of_damage(
        "a reset that was killed is not finished by the next",
        RESET,
        ("            if is_there(files, target):\n                return Answer.DONE\n", ""),
        (
            "        if any(map(Generation.parse, names)) and RESET_TABLE not in names:\n",
            "        if False:\n",
        ),
    ),
    # topics and partitions that are created, deleted and recreated
    _of_damage(
        "a topic that was made anew is read on",
        POSITIONS,
        ("    if ids and view.id != UNKNOWN_ID:\n", "    if False:\n"),
    ),
    _of_damage(
        "a topic that was made anew is read on from the old position once that is accepted",
        POSITIONS,
        (
            "        findings.positions.append(Position(tp, earliest, earliest, view.id))\n",
            "        old = {p.topic_partition: p.end for p in positions}.get(tp, earliest)\n"
            "        findings.positions.append(Position(tp, old, old, view.id))\n",
        ),
    ),
    _of_service(
        "partitions that appear later are left out",
        POSITIONS,
        ("        findings.positions.append(new)\n        return\n", "        return\n"),
    ),
    _of_service(
        "partitions that appear later begin at their end",
        POSITIONS,
        (
            "new=Position(tp, 0, 0, view.id),",
            "new=Position(tp, *[logs.latest[tp].offset] * 2, view.id),",
        ),
    ),
    # another location for a table
    _of_damage(
        "a changed location is no STOP",
        LOCATION,
        (
            "    if state.positions and state.location and not same_location(state.location, location):\n",
            "    if False:\n",
        ),
    ),
    _of_damage(
        "an accepted location is not recorded",
        LOCATION,
        ("    owned = publish(ports, owned, Repair(location=location)).owned\n", ""),
    ),
    _of_damage(
        "a repair cleans up only where the table is to be",
        RECOVER,
        (
            "            keep=wiring.map.limits.keep_snapshots,\n",
            "            keep=wiring.map.limits.keep_snapshots,\n"
            "            location=relocation.after if relocation else None,\n",
        ),
    ),
    _of_damage(
        "files at an earlier location count no more",
        COMPLETENESS,
        (
            "        now[path] = more if known is None else",
            "        now[path] = more if known is None or known.partition != more.partition else",
        ),
    ),
    _of_damage(
        "a certificate's draft lies in the table's present staging directory",
        CERTIFY,
        (
            "join(directory, certificate_draft_name(",
            "join(state.location, '_tmp', certificate_draft_name(",
        ),
    ),
    # two topics whose names give the same table
    _of_service(
        "a newcomer takes the table of another topic over",
        TABLES,
        ("    routing = _routing(wiring, topics, known) if unknown else first\n", "    routing = first\n"),
    ),
    _of_service(
        "two topics whose names make one table are merged",
        ROUTE,
        (
            "claim = claims.get((name, groups), _Claim(rule, name, source))\n"
            "        claims[name, groups] = replace",
            "claim = claims.get((name, ()), _Claim(rule, name, source))\n        claims[name, ()] = replace",
        ),
    ),
    _of_service(
        "of two new topics that make one table the first is read",
        ROUTE,
        (
            "    return claims[0] if all(claim.rule is not claims[0].rule for claim in claims[1:]) else None\n",
            "    return claims[0]\n",
        ),
    ),
    _of_service(
        "a run does not say which topics it refuses",
        OWNED_TABLES,
        ("        self.conflicts = routes.conflicts\n", "        self.conflicts = ()\n"),
    ),
    _of_service(
        "status does not say which topics are refused",
        STATUS,
        (
            "    errors += ((c.table, c.error) for c in routing.conflicts if not wanted or c.table in wanted)\n",
            "",
        ),
    ),
    # metadata older than an earlier answer
    _of_damage(
        "a topic id that does not fit is not asked for again",
        EPOCHS,
        ("        if doubtful:\n", "        if False:\n"),
    ),
    _of_service(
        "a run does not miss a topic that vanished since it began",
        ONCE,
        (
            "vanished_topics(t.name, t.vanished) for t in tables if t.vanished",
            "vanished_topics(t.name, t.vanished) for t in ()",
        ),
    ),
    # Hive's tables
    _of_service(
        "a table that was never compared is dumped while Hive is away",
        GATE,
        ("                if spec not in _recorded(table):", "                if False:"),
    ),
    _of_damage(
        "a table that Hive has otherwise is dumped all the same",
        GATE,
        (
            "                self.differs(name, error)\n                raise error",
            "                self.differs(name, error)",
        ),
    ),
    _of_service(
        "Hive's table is not altered though the map may",
        HIVE_SCHEMAS,
        ("if expected.alter and (altered", "if False and (altered"),
    ),
    _of_service(
        "what was compared with Hive is not recorded",
        OWNED_TABLES,
        ("change, compared=compared, lapsed", "change, lapsed"),
    ),
    _of_damage(
        "the place of Hive's table is not compared",
        HIVE_SCHEMAS,
        (
            "        check_table(spec, description)\n        if not self._has_view",
            "        check_table(spec, replace(description, location=None))\n        if not self._has_view",
        ),
        (
            "if expected.alter and (altered",
            "if expected.alter and description.location == spec.location and (altered",
        ),
    ),
    # a snapshot's text, with the same mistake in both directions
    _mutant(
        "starts and ends of positions are exchanged in both directions",
        LINES,
        (
            '    Field("start"),\n    Field("end"),\n    Field("leader_epoch")',
            '    Field("start", "end"),\n    Field("end", "start"),\n    Field("leader_epoch")',
        ),
    ),
    _mutant(
        "lengths and rows of files are exchanged in both directions",
        LINES,
        (
            '    Field("length"),\n    Field("rows"),\n',
            '    Field("length", "rows"),\n    Field("rows", "length"),\n',
        ),
    ),
    _mutant(
        "further rows of a record are not written into accounts",
        LINES,
        ('    Field("more_rows", "account.more_rows", since=3),\n', ""),
    ),
    _of_service(
        "counts by time stay in the snapshots of later epochs",
        LINES,
        ("    life=Life.EPOCH,\n    since=12,\n", "    life=Life.STATE,\n    since=12,\n"),
    ),
    _of_service(
        "counts by time are not in the snapshot",
        DRAFT,
        ("                windows=change.windows,\n", ""),
    ),
    _of_service(
        "the least and the greatest offset of counts are exchanged in both directions",
        LINES,
        (
            '    Field("first"),\n    Field("last"),\n    attribute="windows"',
            '    Field("first", "last"),\n    Field("last", "first"),\n    attribute="windows"',
        ),
    ),
    _mutant(
        "the checksum leaves line 1 out in both directions",
        CODEC,
        (
            "    return body + _CHECKSUM + hashlib.sha256(body)",
            '    return body + _CHECKSUM + hashlib.sha256(body[body.index(b"\\n") :])',
        ),
        (
            "    if tail != _CHECKSUM + hashlib.sha256(body)",
            '    if tail != _CHECKSUM + hashlib.sha256(body[body.index(b"\\n") :])',
        ),
    ),
    _of_service(
        "no snapshot says a topic's id",
        CODEC,
        (
            "[line.write(value) for",
            '[line.write(value) | ({"topic_id": "-"} if line.tag == "position" else {}) for',
        ),
    ),
    # bounds of late rows
    _of_service(
        "late rows are those of periods that just ended",
        READ_THROUGH,
        (
            "last_end_over(through * 1000, rule.completion.delay_seconds, per_second=1000)",
            "through * 1000",
        ),
    ),
    _of_service(
        "a longer delay opens closed periods again",
        READ_THROUGH,
        ("return bound if known is None else max(bound, known)", "return bound"),
    ),
    _of_service("the bound of late rows never moves", READ_THROUGH, ("else max(bound, known)", "else known")),
    _of_service(
        "the planner has no bounds",
        BACKLOGS,
        ("            bounds=event_bounds(table.rule, table.owned.state),\n", ""),
    ),
    _of_service("a snapshot has no bounds of its tasks", MANIFESTS, ("        bounds=bounds,\n", "")),
    _of_service(
        "a snapshot keeps the bounds before it",
        DRAFT,
        ("                bounds=_bounds(state, change),\n", ""),
    ),
    _of_service(
        "a snapshot without records forgets the bounds",
        DRAFT,
        (
            "        previous=checksum_of(state),\n",
            "        previous=checksum_of(state),\n        bounds=None,\n",
        ),
    ),
    # R10: certificates of complete partitions
    _mutant(
        "a certificate is written where it is to stay",
        CERTIFY,
        ("        draft = join(directory, certificate_draft_name(base_name(path), ports.new_uuid()))\n", ""),
        (
            "        write_file(files, draft, certificate_text",
            "        write_file(files, path, certificate_text",
        ),
        ("            files.rename(draft, path)\n", "            pass\n"),
    ),
    _mutant(
        "a success file's error taken for success",
        CERTIFY,
        (
            "        with suppress(AlreadyExists):\n",
            "        with suppress(StorageError):\n",
        ),
    ),
    _mutant(
        "open partitions outlive that nobody asks for them",
        COMPLETENESS,
        ("replace(after, tracking=None, open=())", "replace(after, tracking=None)"),
        (" if before.tracking is not None else ()", ""),
    ),
    _mutant(
        "a partition that is open again counts only what comes now",
        COMPLETENESS,
        (
            "_opened(certificate.partition, certificate.since, before.written_at",
            "_opened(certificate.partition, after.epoch, before.written_at",
        ),
    ),
    _mutant(
        "a snapshot does not say what it opens again",
        COMPLETENESS,
        ("        reopened=tuple(dict.fromkeys(reopened)),\n", ""),
    ),
    _mutant(
        "a start does not look for the certificates of a final snapshot",
        EPOCH,
        (
            "return Publication(certify(ports, owned, given_up), FileMoves())",
            "return Publication(owned, FileMoves())",
        ),
    ),
    _of_service(
        "a certificate that is refused ends its epoch",
        CERTIFY,
        (
            "    certificates = owned.state.certificates\n    if not",
            "    from kafka2hive.model.errors import AmbiguousOutcome\n"
            "    certificates = owned.state.certificates\n    if not",
        ),
        (
            "    in_place = [each",
            "    if any(reasons):\n"
            "        raise AmbiguousOutcome('mutant', 'not certified')\n"
            "    in_place = [each",
        ),
    ),
    _of_service(
        "a certificate that was not written waits for the next data",
        TABLE_STEPS,
        (
            "elif table.completion.asked_at > asked_at and self._owned_tables.certify_again(table):",
            "elif False:",
        ),
    ),
    _of_service(
        "a partition that becomes complete waits for the next data",
        COMPLETION,
        (
            "        if not isinstance(answer, Completeness) or answer.complete:\n",
            "        if not isinstance(answer, Completeness):\n",
        ),
    ),
    _mutant(
        "a certificate's error taken for success",
        CERTIFY,
        (
            "            why = first_line(error)\n            continue\n",
            '            why = ""\n',
        ),
    ),
    _mutant(
        "a certificate that was not written is forgotten",
        COMPLETENESS,
        (
            "        if certificate.partition in reopened:\n",
            "        if False:\n",
        ),
    ),
    _mutant(
        "certificates do not count the files of their own epoch",
        COMPLETENESS,
        (
            "    for file in _data(after.files, repaired):\n",
            "    for file in _data(before.files, repaired):\n",
        ),
    ),
    _mutant(
        "certified partitions stay open",
        COMPLETENESS,
        ("sorted(open_now.keys() - paths)", "sorted(open_now.keys())"),
    ),
    _mutant(
        "dead letters open partitions",
        COMPLETENESS,
        ("        if file.kind is FileKind.DATA or (", "        if file.kind is not FileKind.COMPACTED or ("),
    ),
    _of_service(
        "partitions that Hive does not have are complete",
        COMPLETION,
        ("_unknown_to_hive(table, owned) if self._waits_for_hive else frozenset()", "frozenset()"),
    ),
    # a repair while a run is alive
    _of_damage(
        "a run never looks whether a stopped table was repaired",
        EPOCHS,
        (
            "            if self._once is None:\n                self._steps.take_up_repaired()\n",
            "",
        ),
    ),
    _of_damage(
        "nobody looks for the heartbeats of repairs",
        HEARTBEAT,
        (
            "        elif (repair := parse_repair_name(child.name)) is not None:\n",
            "        elif (repair := None) is not None:\n",
        ),
    ),
    _of_damage(
        "a repair does not beat",
        RECOVER,
        (
            "check=ownership.taking_over(view.paths, None, announce),",
            "check=ownership.taking_over(view.paths, None, lambda: None),",
        ),
    ),
    _of_damage(
        "who has beaten once is alive for ever",
        HEARTBEAT,
        ("            since = since if count == beat.count else now\n", "            since = now\n"),
    ),
    _of_damage(
        "a run takes its own generation for a repair",
        STOPPED_TABLES,
        (
            "        is_mine = generation.owner is not None and process_of(generation.owner) == self._me\n",
            "        is_mine = False\n",
        ),
    ),
    _of_damage(
        "a table that a live run has stopped is not left to a command",
        STOPPED,
        ("    if live.repairs or owner is None:\n", "    if True:\n"),
    ),
    # compaction by order
    _of_compaction(
        "an order to compact ends before its partitions have moved",
        COMPACTING,
        (
            "        if not ordered.left:\n            self._end(table, ordered.order, ordered.result)\n            self._forget",
            "        if True:\n            self._end(table, ordered.order, ordered.result)\n            self._forget",
        ),
    ),
    _of_compaction(
        "an order to compact counts twice what it moves",
        UNITS,
        ("self.moved += len((self.left", "self.moved += 2 * len((self.left"),
    ),
    _of_compaction(
        "an order compacts nothing without the section in the map",
        COMPACTING,
        ("return table.rule.compact if ordered is None else ordered.options", "return table.rule.compact"),
    ),
    # orders of an operator
    _of_reload(
        "a changed table keeps its former entry of the map",
        MAP_RELOAD,
        ("self._owned_tables.drop(removed | changed)", "self._owned_tables.drop(removed)"),
    ),
    _of_reload(
        "a removed table is served on",
        MAP_RELOAD,
        ("self._owned_tables.drop(removed | changed)", "self._owned_tables.drop(changed)"),
    ),
    _of_reload(
        "a reload reads the new map and goes on with the former one",
        MAP_RELOAD,
        ("        self._wiring.adopt(prepared.map)\n", ""),
    ),
    _of_reload(
        "the topics are not routed by the new map while they are the same",
        OWNED_TABLES,
        ("pair[0] not in names)\n        self._routes_due_at = -math.inf\n", "pair[0] not in names)\n"),
    ),
    _of_reload(
        "a table that is to be removed gets records until it leaves",
        MAP_RELOAD,
        ("return () if self._under_way is None else self._under_way.leaving", "return ()"),
    ),
    _of_reload(
        "a table is removed before Hive has its partitions",
        MAP_RELOAD,
        ("            return False\n        return True", "            return True\n        return True"),
    ),
    _of_reload(
        "a run keeps others from the tables that it has removed",
        MAP_RELOAD,
        ("map=prepared.map.fingerprint, released=kept)", "map=prepared.map.fingerprint)"),
    ),
    _of_reload(
        "a run reports its former map after a reload",
        MAP_RELOAD,
        (
            "replace(self.report, map=prepared.map.fingerprint, released=kept)",
            "replace(self.report, released=kept)",
        ),
    ),
    _of_orders(
        "an order's file is moved before the snapshot that records it",
        ORDERS,
        (
            "            publish(order)\n        if not",
            "            inbox.move_to_done(order)\n            publish(order)\n        elif not",
        ),
    ),
    _of_orders(
        "an order that a snapshot records is done once more",
        ORDERS,
        (
            "        if find_recorded(state(), order.id) is None:\n            publish(order)\n",
            "        publish(order)\n",
        ),
    ),
    _of_orders(
        "the snapshot that does an order does not record it",
        DRAFT,
        ("        orders=(state.orders + change.orders)[-MOST_ORDERS:],\n", ""),
    ),
    _of_orders(
        "a snapshot lists only its own orders",
        DRAFT,
        ("(state.orders + change.orders)[-MOST_ORDERS:]", "change.orders"),
    ),
    _of_orders(
        "a table that is paused is planned all the same",
        BACKLOGS,
        ("        if table.owned.state.paused is not None:\n            ranges = ()\n", ""),
    ),
    _of_orders(
        "a pause holds for one epoch",
        DRAFT,
        ("        orders=(state.orders", "        paused=None,\n        orders=(state.orders"),
    ),
    _of_orders(
        "a table that is resumed stays paused",
        ORDERS,
        ("return PauseUpdate(paused=None, orders", "return PauseUpdate(paused=owned.state.paused, orders"),
    ),
    _of_orders(
        "a table that is paused again is paused since then",
        ORDERS,
        ("            pause = owned.state.paused or Pause(", "            pause = Pause("),
    ),
    _of_orders(
        "a replay is recorded before its letters are decoded",
        REPLAYS,
        ("        if work.files is not None and not work.files:\n", "        if work.files is not None:\n"),
    ),
    _of_orders(
        "a replay counts its last batch alone",
        REPLAYS,
        ("            work.running = running\n", ""),
    ),
    _of_orders(
        "a run replays by its own map",
        REPLAYS,
        (
            "        if instruction.rules != rules_digest(table.rule, self._wiring.map):\n",
            "        if False:\n",
        ),
    ),
    _of_orders(
        "a replay leaves out what a batch was too small for",
        REPLAYS,
        ("        for _ in planned:\n            work.files.popleft()\n", "        work.files.clear()\n"),
    ),
    _of_orders(
        "a replay stays under way after its end",
        DRAFT,
        ("or any(o.id == running.order for o in change.orders) else", "else"),
    ),
    _of_orders(
        "a command answers a replay that it has not done",
        ORDER,
        ("_LEFT_TO_A_RUN = (GiveUpRegistration, LongInstruction)", "_LEFT_TO_A_RUN = GiveUpRegistration"),
    ),
    _of_orders(
        "late letters of a replay are decoded without bounds",
        REPLAYED,
        ("            bounds=with_expiry(self.bounds, state),\n", ""),
    ),
    _of_orders(
        "a replay is recorded as an order that takes one snapshot",
        ORDERS,
        (" and find_recorded(state, order.id) is None\n        split", " and False\n        split"),
    ),
    _of_orders(
        "orders are done in any order",
        INBOX,
        ("key=lambda order: (order.given_at, order.id)", "key=lambda order: order.id"),
    ),
    _of_orders(
        "an order is done for whichever table comes first",
        INBOX_WATCH,
        ("by_table[table.name],", "sum(by_table.values(), []),"),
    ),
    _of_orders(
        "an order for a table that the run does not serve stays",
        INBOX_WATCH,
        ('                misfits.append(Misfit(order_name(order.id), "order.no_table", text))\n', ""),
    ),
    _of_orders(
        "an order is not compared with its place",
        INBOX,
        ("        if document[what] != wanted:\n", "        if False:\n"),
    ),
    _of_orders(
        "a text that is no order stays in the inbox",
        INBOX_WATCH,
        ("        self._inbox.reject(misfit.name)\n", ""),
    ),
    _of_orders(
        "a lost answer to an order's rename is taken for given",
        INBOX,
        (
            '                log.warning("rename %s: %s", draft, error)\n',
            "                return Answer.DONE\n",
        ),
    ),
    _of_orders(
        "an order ends that its table is set aside",
        OWNED_TABLES,
        (
            "        table.ownership = replace(owned, ledger=published.owned, registered=frozenset())\n",
            "        table.state = replace(owned, ledger=published.owned, registered=frozenset())\n",
        ),
    ),
    _of_orders(
        "a run of --once ends well beside a paused table",
        ONCE,
        ("        return paused | self._held", "        return self._held"),
    ),
    _of_compaction(
        "a repair leaves the certificates that count a lost file",
        RECOVER,
        ("        repair = replace(repair, withdrawn=repairs.withdrawn(owned, repair))\n", ""),
    ),
    _of_compaction(
        "a repair of a compacted file leaves the time at the early place as it is",
        PLACES,
        ("        if m.partition in repaired\n", "        if False\n"),
    ),
    _of_compaction(
        "a lost compacted file is written again with the rows of its unit's other files",
        COMPACTED,
        ("for file in written if file.final not in gone}", "for file in written if False}"),
    ),
    _of_compaction(
        "the compacted files of a repair do not count before early files are deleted",
        RETIRE,
        ("sorted({moved.epoch, *(loss.epoch for loss in refetched)})", "[moved.epoch]"),
    ),
    _of_compaction(
        "an accepted loss gives up what early files hold",
        REPAIR,
        ("if sources.present or sources.missing else ()", "if is_refetch else ()"),
    ),
    _of_compaction(
        "the certificates of the early place count again after a repair at home",
        WITHDRAWAL,
        ("in_force.pop(replace(home, location=other_place(home.location, home.path)), None)", "pass"),
    ),
    _of_compaction(
        "data of an early partition go home once a later period has moved",
        PLACES,
        ("        if entry.partition.path == home.path:\n", "        if False:\n"),
    ),
    _of_compaction(
        "a period that has moved begins early again",
        PLACES,
        (
            "instant_seconds(closes) <= instant_seconds(state.closed_through):",
            "instant_seconds(closes) < instant_seconds(state.closed_through):",
        ),
        ("has_files(home.location) or has_files(early)", "False"),
        ("any(entry.partition.path == home.path for entry in state.moved)", "False"),
    ),
    _of_compaction(
        "a partition that began at home goes early once the map has compact again",
        PLACES,
        ("has_files(home.location) or has_files(early)", "has_files(early)"),
    ),
    _of_compaction(
        "a listing without an answer counts as empty",
        EARLY_FILES,
        (
            '            raise AmbiguousOutcome("ledger.no_answer", f"listing {directory}: {error}") from error\n',
            "            return False\n",
        ),
    ),
    _of_compaction(
        "a partition moves before its period is over",
        PLACES,
        (
            "        delay_seconds = 0.0\n    elif early.closes == UNKNOWN_END:\n",
            "        return True\n    elif early.closes == UNKNOWN_END:\n",
        ),
    ),
    _of_compaction(
        "an open partition moves once the table is read through its end",
        PLACES,
        (" and entry.partition.path not in is_open\n", "\n"),
    ),
    _of_compaction(
        "late data of a moved partition are not noted",
        PLACES,
        (
            "tuple(late)",
            "tuple(lines.values())",
        ),
    ),
    _of_compaction(
        "a rebuilt ledger promotes the staged files of early partitions to their homes",
        LEDGER + "repair.places",
        ("places[home] = early.get(home.path, new)", "places[home] = home"),
    ),
    _of_compaction(
        "a rebuilt ledger places staged files as if nothing were visible",
        LEDGER + "repair.places",
        ("places[home] = early.get(home.path, new)", "places[home] = new"),
    ),
    _of_compaction(
        "nobody looks for files newer than a restored ledger at early places",
        LEDGER + "repair.older_ledger",
        ("c.is_directory and c.name == EARLY_PLACES", "False"),
    ),
    _of_compaction(
        "nobody looks for files newer than a restored ledger at the homes of early partitions",
        LEDGER + "repair.older_ledger",
        ("*touched, *_next_homes(view), ", "*touched, "),
    ),
    _of_compaction(
        "a rebuilt ledger does not make the homes of early partitions",
        INIT,
        (
            "                ports.files.mkdirs(other_place(early.partition.location, early.partition.path))\n",
            "                pass\n",
        ),
    ),
    _of_compaction(
        "a rebuilt ledger does not know that a moved partition has late data",
        LEDGER + "repair.places",
        ("replace(m, late=base.epoch) if m.partition in filled else m", "m"),
    ),
    _of_compaction(
        "what has moved does not close its period",
        PLACES,
        (
            "closed_through=max((after.closed_through, *closed), key=instant_seconds)",
            "closed_through=after.closed_through",
        ),
    ),
    _of_compaction(
        "more data leave an early partition certified",
        PLACES,
        ("rows=known.rows + file.rows, certified=0)", "rows=known.rows + file.rows)"),
    ),
    _of_compaction(
        "an early partition stays certified though its certificate is withdrawn",
        PLACES,
        ("early[partition.path], certified=0)", "early[partition.path])"),
    ),
    _of_compaction(
        "a partition moves though its certificate will be withdrawn",
        PLACES,
        (
            "if entry.partition not in withdrawn | given_up)",
            "if entry.partition not in given_up)",
        ),
    ),
    _of_compaction(
        "the partitions that moved before are forgotten",
        PLACES,
        ("moved=after.moved + moved,", "moved=moved,"),
    ),
    _of_compaction(
        "partitions that moved are not looked at again",
        PLACES,
        ("= (*state.early, *state.moved)", "= state.early"),
    ),
    _of_compaction(
        "early partitions are not looked at",
        PLACES,
        ("= (*state.early, *state.moved)", "= state.moved"),
    ),
    _of_compaction(
        "partitions with data in the newest epoch are not looked at",
        PLACES,
        (
            "for entry in places) - given_up",
            "for entry in places) - given_up - set(state.unregistered)",
        ),
    ),
    _of_compaction(
        "a location that was put back is only noticed",
        REGISTER,
        ("metastore.set_locations(filter(is_watched, wrong))", "((each, None) for each in wrong)"),
    ),
    _of_compaction(
        "an early place or a home that the ledger has left is misplaced",
        REGISTER,
        (
            "                elif same_location(where, other_place(partition.location, partition.path)):\n",
            "                elif False:\n",
        ),
    ),
    _of_compaction(
        "a location is taken for set without telling Hive",
        REGISTER,
        ("self._metastore.set_locations(elsewhere)", "((each, None) for each in elsewhere)"),
    ),
    _of_compaction(
        "an early partition has no directory at its home",
        EPOCH,
        ("    anchor(ports, owned)\n    final", "    final"),
    ),
    _of_compaction(
        "the home of an early partition is made after its epoch is final",
        EPOCH,
        (
            "    anchor(ports, owned)\n    final = finalise(ports, owned)\n",
            "    final = finalise(ports, owned)\n    anchor(ports, owned)\n",
        ),
    ),
    _of_compaction(
        "an early place stays a pending registration when its partition moves",
        DRAFT,
        ("(pending - gone | partitions_of", "(pending | partitions_of"),
    ),
    _of_compaction(
        "the last unit of a partition is left out",
        EARLY_FILES,
        ("    if unit:\n        yield tuple(unit)\n", ""),
    ),
    _of_compaction(
        "files of a successor are taken for files added by hand",
        EARLY_FILES,
        ("        list_own_directory(files, owned)\n        raise\n", "        raise\n"),
    ),
    _of_compaction(
        "early files are ordered as they are listed",
        EARLY_FILES,
        ("    return sorted(listed)\n", "    return listed\n"),
    ),
    _of_compaction(
        "partitions that moved are not encoded",
        LINES,
        ("    UNIT,\n    MOVED,\n", "    UNIT,\n"),
    ),
    _of_compaction(
        "places that were retired are not encoded", LINES, ("    MOVED,\n    RETIRED,\n", "    MOVED,\n")
    ),
    _of_retention(
        "dropped partitions are not encoded", LINES, ("    RETIRED,\n    DROPPED,\n", "    RETIRED,\n")
    ),
    _of_retention(
        "what has expired is forgotten by an epoch with records",
        READ_THROUGH,
        ("    if not expired:\n", "    if True:\n"),
    ),
    _of_retention(
        "a draft may take rows that have expired, and a task does",
        TASKS,
        (", share.late_before_ms)\n    )", ", None)\n    )"),
    ),
    _of_retention(
        "a partition is dropped, and what has expired is not recorded",
        RETENTION,
        (
            "Expiry(expired_before_ms=before_ms, dropped=dropped,",
            "Expiry(expired_before_ms=1, dropped=dropped,",
        ),
    ),
    _of_retention(
        "files are deleted as soon as Hive has dropped the partition",
        RETENTION,
        ("now - since >= KEEP_SECONDS", "now >= since"),
    ),
    _of_retention(
        "files are deleted although a look has met the partition in Hive",
        RETENTION,
        ("if each.partition in absent and is_over", "if is_over"),
    ),
    _of_retention(
        "the time of a dropped partition runs on when it is back",
        EXPIRY,
        ('return replace(each, gone_since="")', "return each"),
    ),
    _of_retention(
        "a partition that is back is dropped again before the snapshot that stops its time",
        DROPPED,
        ("for home in first.present if not due[home]]", "for home in first.present]"),
    ),
    _of_retention(
        "the time of a dropped partition begins before it is dropped",
        DROPPED,
        (
            "looks.append(drop_from_hive(metastore, to_drop, clock))",
            "looks.append((drop_from_hive(metastore, to_drop, clock)[0], at))",
        ),
    ),
    _of_retention(
        "looks for dropped partitions never get old",
        RETAINING,
        ("if now - FRESH_SECONDS <= at <= now", "if at <= now"),
    ),
    _of_retention(
        "a period expires by the clock alone",
        READ_THROUGH,
        ("min(now_ms, state.newest_ms) - round", "now_ms - round"),
    ),
    _of_retention(
        "what expires later is never dropped",
        RETAINING,
        ("        if before_ms - state.expired_before_ms >=", "        if not state.expired_before_ms >="),
        ("progress.waits and since >= EXPIRY", "progress.failed and since >= EXPIRY"),
    ),
    _of_retention(
        "a dropped partition is cleared before its files are deleted",
        RETENTION,
        ("            is_clear = False\n", "            is_clear = True\n"),
        ("        deleted += sum(ports.concurrency.map(partial(_delete, ports), own))\n", ""),
    ),
    _of_retention(
        "certificates of dropped partitions stay",
        RETENTION,
        ("    return mark is not None and mark.ledger == tag", "    return False"),
    ),
    _of_retention(
        "replayed letters of dropped partitions stay, hidden",
        RETENTION,
        ("DataFileName.parse(letters_name(child.name))", "DataFileName.parse(child.name)"),
    ),
    _of_retention(
        "letters of a dropped partition are replayed",
        HISTORY,
        ("for file in every if snapshot.epoch > self._dropped_through(file)]", "for file in every]"),
    ),
    _of_retention(
        "an epoch forgets what is dropped",
        EXPIRY,
        ("for each in after.dropped if each.partition not in", "for each in () if each.partition not in"),
    ),
    _of_retention(
        "a pending registration is dropped, too",
        EXPIRY,
        (
            "    reasons.update((each.name, why) for each in state.unregistered if each not in known)\n",
            "",
        ),
    ),
    _of_retention(
        "without Hive, a partition is dropped that an earlier map has told Hive of",
        EXPIRY,
        (
            "for each in state.unregistered if each.table not in compared)",
            "for each in state.unregistered)",
        ),
    ),
    _of_retention(
        "without Hive, a partition stays pending when it is dropped",
        EXPIRY,
        ("if each not in change.dropped)", ")"),
    ),
    _of_retention(
        "without Hive, the time of a dropped partition began long before",
        RETENTION,
        ("dropped=dropped, gone_at=utc_text(now))", "dropped=dropped, gone_at=utc_text(now - 86_400))"),
    ),
    _of_retention(
        "without Hive, the time of a dropped partition never begins",
        EXPIRY,
        ('since = change.gone_at if change.without_hive else ""', 'since = ""'),
    ),
    _of_retention(
        "with Hive, no look is waited for",
        EXPIRY,
        ('since = change.gone_at if change.without_hive else ""', "since = change.gone_at"),
    ),
    _of_retention(
        "without Hive, files are deleted that an earlier map has told Hive of",
        RETENTION,
        ("homes if home.table not in compared)", "homes)"),
    ),
    _of_retention(
        "an open partition is dropped, too",
        EXPIRY,
        ('    reasons.update((each.partition.name, "it is not complete yet") for each in state.open)\n', ""),
    ),
    _of_retention(
        "a partition is dropped twice",
        EXPIRY,
        (
            '    reasons.update((each.partition.name, "it is already being dropped") for each in state.dropped)\n',
            "",
        ),
    ),
    _of_compaction(
        "early files are deleted before queries there fail",
        RETIRE,
        ("if mark.text not in {child.name for child in present}:", "if False:"),
    ),
    _of_compaction(
        "early files are deleted before their place is retired",
        RETIRE,
        (
            "            retired.append(each.partition)\n",
            "            retired.append(each.partition)\n"
            "            for file in own_files(children(ports.files, each.early), state, each.epoch):\n"
            "                _delete(ports, file)\n",
        ),
    ),
    _of_compaction(
        "partitions are retired at the first right look",
        RETIRE,
        ("at - since >= keep_seconds", "at >= since"),
    ),
    _of_compaction(
        "the time of a partition runs on when it is put back",
        PLACES,
        ('moved.append(replace(entry, right_since=""))', "moved.append(entry)"),
    ),
    _of_compaction(
        "a location is set again before the snapshot that stops its time",
        REGISTER,
        ("elif is_counted(partition):", "elif False:"),
    ),
    _of_compaction(
        "late data do not stop the time of a partition",
        PLACES,
        ('late=after.epoch, right_since="")', "late=after.epoch)"),
    ),
    _of_compaction(
        "the time of a pending registration runs", RETIRE, ("p not in counted | pending", "p not in counted")
    ),
    _of_compaction(
        "the text file at a retired place is written where it is to stay",
        RETIRE,
        ("draft = join(retired.early, mark.draft(ports.new_uuid()))", "draft = path"),
    ),
    _of_compaction(
        "the text file at a retired place does not name its files",
        RETIRE,
        ("        if footer is not None:\n            row", "        if footer is None:\n            row"),
    ),
    _of_compaction(
        "a retired place is forgotten before its files are deleted",
        RETIRE,
        (
            "            if not own:\n                cleared",
            "            if True:\n                cleared",
        ),
    ),
    _of_compaction(
        "an epoch forgets what is retired",
        PLACES,
        ("    retired = [entry for entry in after.retired if", "    retired = [entry for entry in () if"),
    ),
    _of_compaction(
        "a partition that was retired counts as moved, too",
        PLACES,
        (
            "        if entry.partition in change.retired:\n",
            "        moved += [entry] if entry.partition in change.retired else []\n"
            "        if entry.partition in change.retired:\n",
        ),
    ),
    _of_compaction(
        "late data of a retired partition begin its line again before the text file is there",
        EARLY_FILES,
        (" | {each.partition for each in state.retired}\n", "\n"),
    ),
    _of_compaction(
        "late data of a retired partition begin its line again",
        EARLY_FILES,
        (" and not any(map(RetirementName.parse, visible(early)))", ""),
    ),
    _of_compaction(
        "nobody looks for retirements that are newer than a restored ledger",
        LEDGER + "repair.older_ledger",
        (", *_next_retired(view)]", "]"),
    ),
    _of_compaction(
        "a rebuilt ledger does not know what is retired",
        REBUILD,
        ("(base, lost.closes, lost.retired, moves", "(base, lost.closes, {}, moves"),
    ),
    _of_compaction(
        "cleanup deletes the staged files of units that other threads write",
        CLEANUP,
        (
            "owned.next_epoch if units_since is None else min(units_since, owned.next_epoch)",
            "owned.next_epoch",
        ),
    ),
    _of_compaction(
        "a unit keeps the epoch in its names in which it was planned",
        PLACES,
        ("    name = replace(parsed[0], epoch=epoch)\n", "    name = parsed[0]\n"),
    ),
    _of_compaction(
        "files that came to an early place while its units were written stay behind",
        UNITS,
        ("if len(self._sources) != early.files:", "if not self._sources:"),
    ),
    _of_compaction(
        "a partition moves while a unit of it is written",
        UNITS,
        ("if self._waiting or self._assigned:", "if self._waiting:"),
    ),
    _of_compaction(
        "a partition moves before the last units of it are ordered",
        UNITS,
        ("if self._waiting or self._assigned:", "if self._assigned:"),
    ),
    _of_compaction(
        "a partition whose units are written moves although it is open again",
        UNITS,
        ("for each in ready if each.partition", "for each in owned.state.early if each.partition"),
    ),
    _of_compaction(
        "files that came later are cut into units together with the known ones",
        UNITS,
        ("cut(listed[known:], self._target_bytes)", "cut(listed, self._target_bytes)"),
    ),
    _of_compaction(
        "the sources that a unit left out are forgotten",
        UNITS,
        ("        if len(interval) > written.sources:\n", "        if False:\n"),
    ),
    _of_compaction(
        "a unit names all sources of its order although it left some out",
        UNITS,
        ("last=interval[written.sources - 1].key", "last=interval[-1].key"),
    ),
    _of_compaction(
        "what was put back is never recorded",
        RETIRING,
        ("Looks({**known.right, **right}, known.put_back | put_back)", "Looks({**known.right, **right})"),
    ),
    _of_compaction(
        "a partition is dropped before its small files are deleted",
        EXPIRY,
        (
            '    reasons.update((each.partition.name, "its small files are not deleted yet") for each in state.moved)\n',
            "",
        ),
    ),
    _of_compaction(
        "all units of a partition have one number",
        UNITS,
        ("            self._tasks += 1\n", "            pass\n"),
    ),
    _of_complete(
        "what waits for a certificate is a pending registration, too",
        DRAFT,
        (" - given_up - frozenset(changed.withheld)\n", " - given_up\n"),
    ),
    _of_complete(
        "a partition waits no more once a snapshot certifies it, whether its certificate is in place or not",
        OWNED_LEDGER,
        (
            "names = {partition.name for partition in self.certified}",
            "names = {each.partition.name for each in self.state.certificates}",
        ),
    ),
    _of_complete(
        "a partition that waits no more is not registered",
        WITHHELD,
        ("unregistered=tuple(sorted({*state.unregistered, *released}))", "unregistered=state.unregistered"),
    ),
    _of_complete(
        "a certified partition waits on",
        WITHHELD,
        ("tuple(each for each in state.withheld if each not in released)", "state.withheld"),
    ),
    _of_complete(
        "a partition waits for a certificate with its later files, too",
        WITHHOLD,
        (
            " for each in new if not any(map(partial(_has_traces, files), _places(each))))",
            " for each in new)",
        ),
    ),
    _of_complete(
        "a partition waits on although the map registers partitions at once",
        WITHHELD,
        ("            return not withholds\n", "            return False\n"),
    ),
    _of_complete(
        "a partition waits although nobody tracks what is complete",
        WITHHELD,
        ("if after.tracking is None or _ends(change):", "if _ends(change):"),
    ),
    _of_complete(
        "partitions wait without completion",
        WITHHELD,
        (
            "        case NoTracking():\n            return True\n",
            "        case NoTracking():\n            return False\n",
        ),
        ("if after.tracking is None or _ends(change):", "if _ends(change):"),
    ),
    _of_complete(
        "a look shows a partition that waits",
        RETIREMENT,
        ("watched_partitions(state) - waiting,", "watched_partitions(state),"),
    ),
    _of_complete(
        "a look leaves out a partition that waits no more",
        RETIREMENT,
        ("frozenset(state.withheld) - ledger.released", "frozenset(state.withheld)"),
    ),
    _of_complete(
        "an expired partition is dropped between its certificate and its registration",
        EXPIRY,
        ("    reasons.update((each.name, why) for each in state.withheld_until_certified)\n", ""),
    ),
    _of_complete(
        "a rebuilt ledger tells Hive of what has no certificate",
        REBUILD,
        ("    base = with_rebuilt_waiting(base, lost.withheld)\n", ""),
    ),
    _of_complete(
        "a rebuilt ledger withholds partitions that are not open",
        REBUILT_WAITING,
        ("open=tuple(opened))", "open=())"),
    ),
    _of_complete(
        "the pending epoch of a rebuilt ledger tells Hive of what has no certificate",
        REBUILD,
        ("        last = with_rebuilt_waiting(last, lost.withheld, before=base)\n", ""),
    ),
    _of_complete(
        "a rebuilt ledger has what waits as pending registrations, too",
        REBUILT_WAITING,
        (
            "for each in snapshot.unregistered if each.name not in names)",
            "for each in snapshot.unregistered)",
        ),
    ),
    _of_services_that_complete(
        "what is certified at the end of a run is left to the next start",
        EPOCHS,
        (
            "self._steps.record_registrations([t for t in serving if t.owned.state.withheld], ending=True)",
            "serving.clear()",
        ),
    ),
    _of_services_that_complete(
        "a certificate that is written later registers nothing",
        TABLE_STEPS,
        ("            self._registrar.enqueue(table.open_registrations)\n", ""),
    ),
    _of_services_that_complete(
        "what has a certificate is registered after the next snapshot only",
        OWNED_LEDGER,
        ("frozenset(self.state.unregistered) | self.released", "frozenset(self.state.unregistered)"),
    ),
    _of_news(
        "a certificate is told before it is in place",
        OUTBOX,
        ("news.epoch == self.ledger.state.epoch and news.partition", "news.epoch < 0 and news.partition"),
    ),
    _of_news(
        "a certificate is told before Hive has its partition",
        OUTBOX,
        ("return news.partition.name not in self.pending", "return True"),
    ),
    _of_news(
        "an epoch is told as soon as one of its news is",
        OUTBOX,
        (
            "        place.done.add(news.id)\n",
            "        place.done.add(news.id)\n        place.finish(news.epoch, 0.0)\n",
        ),
    ),
    _of_news(
        "a receiver begins with the next epoch after each start",
        OUTBOX,
        ("Place(next(known, since - 1))", "Place(since - 1)"),
    ),
    _of_news(
        "no snapshot says how far receivers are",
        DRAFT,
        ("    return tuple(sorted(change.told))\n", "    return state.told\n"),
    ),
    _of_news(
        "a snapshot of a command forgets the receivers",
        DRAFT,
        ("        return state.told\n    known", "        return ()\n    known"),
    ),
    _of_news(
        "what is published counts as told",
        OUTBOX,
        (
            "NewsProgress(name, receiver.places[table.name].through)",
            "NewsProgress(name, self._tables[table.name].ledger.state.epoch)",
        ),
    ),
    _of_news(
        "news whose answer was lost count as taken",
        OUTBOX,
        (
            "            self._note_failure(receiver, place, error)\n            return error.of_table\n",
            "            self._note_failure(receiver, place, error)\n            place.done.add(news.id)\n"
            "            return error.of_table\n",
        ),
    ),
    _of_news(
        "a history tells certificates that were never in place",
        NEWS,
        ("news_of(snapshot, snapshots[index + 1].reopened)", "news_of(snapshot)"),
    ),
    _of_news(
        "a certificate that was never in place is told after the next epoch",
        OUTBOX,
        (
            "unwritten = frozenset(state.reopened) - before.certified",
            "unwritten = frozenset(state.reopened[:0])",
        ),
    ),
    _of_news(
        "the last snapshot of a piece of history is not told",
        OUTBOX,
        (
            "place.history.append((snapshots[-1].epoch - 1, ()))",
            "place.history.append((snapshots[-1].epoch, ()))",
        ),
    ),
    _of_news(
        "news that are not remembered are left out",
        OUTBOX,
        ("        if self.through < news.known_after:\n            return None\n", ""),
    ),
    _of_news(
        "the newest epoch at a take-over is not told",
        OUTBOX,
        (
            "        news._note(ledger.state.epoch, news_of(ledger.state))\n        return news\n",
            "        return news\n",
        ),
    ),
    _of_news(
        "a dead receiver keeps the others waiting",
        OUTBOX,
        (
            "                receiver.failure = Failure.after(receiver.failure, error, now)\n",
            "                for each in self._receivers.values():\n"
            "                    each.failure = Failure.after(receiver.failure, error, now)\n",
        ),
    ),
    _of_news(
        "a rebuilt ledger has forgotten its receivers",
        REBUILD,
        ("tuple(NewsProgress(name, epoch - 1) for name in sorted(lost.receivers))", "()"),
    ),
    _of_news(
        "nobody is told that a ledger was rebuilt",
        NEWS,
        ("snapshot.owner == REBUILT and snapshot.previous == NO_SNAPSHOT", "snapshot.owner == NO_SNAPSHOT"),
    ),
    _of_news(
        "a history ends where the archive begins",
        HISTORY,
        ("if after + 1 not in {epoch for epoch, _ in finals}:", "if not finals:"),
    ),
    _of_news(
        "files that were dropped in earlier epochs are told again and again",
        NEWS,
        ("        if line.epoch == snapshot.epoch:\n", "        if line.epoch:\n"),
    ),
    _of_news(
        "what is told is recorded only with other changes, although the table is idle",
        OUTBOX,
        ("self.told, self.told_at = epoch, min(self.told_at, now)", "self.told = epoch"),
    ),
)

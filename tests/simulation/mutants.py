"""Plausible mistakes, each as a small patch of one module, each with a seed that catches it quickly.

A mutant that no schedule catches means that the step is needless or the model too weak (docs/simulation.md). `seed` is
the stored proof; `scripts/simulate --mutants` searches afresh.
"""

from dataclasses import dataclass

from tests.simulation.seeds import SEEDS

LEDGER = "kafka2hive.ledger."
TAKE_OVER = LEDGER + "take_over"
COMMIT = LEDGER + "commit"
PROMOTE = LEDGER + "promote"
WHEREABOUTS = LEDGER + "whereabouts"
FINALISE = LEDGER + "finalise"
HYGIENE = LEDGER + "hygiene"
DRAFT = LEDGER + "draft"
EPOCH = LEDGER + "epoch"
START = LEDGER + "start"
INIT = LEDGER + "init"
MARKER = LEDGER + "marker"
RETRY = LEDGER + "retry"
REGISTER = "kafka2hive.publish.register"
TASKS = "tests.simulation.tasks"
DRIVER = "tests.simulation.driver"


@dataclass(frozen=True, slots=True)
class Mutant:
    """`edits` are (old, new) texts of `module`; every old text stands there exactly once, or loading fails loudly."""

    name: str
    module: str
    edits: tuple[tuple[str, str], ...]
    seed: int = 0


def _mutant(name: str, module: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, module, edits, SEEDS.get(name, 0))


_LOOK_TOO = (
    "from kafka2hive.ledger.marker import claim_location\n",
    "from kafka2hive.ledger.look import look\nfrom kafka2hive.ledger.marker import claim_location\n",
)
_TAKE = "        files.rename(paths.generation(old), directory)\n"

MUTANTS = (
    # R1: init
    _mutant(
        "init builds the ledger in place",
        INIT,
        ("beside = paths.beside(ports.new_uuid())", "beside = paths.table_directory"),
        ("            ports.files.rename(beside, paths.table_directory)\n", ""),
    ),
    _mutant(
        "a marker without a ledger is believed at the first look",
        MARKER,
        ("if owner is not None and not _is_there(files, table_directory):", "if owner is not None:"),
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
            "        raise _why_not_mine(files, paths, old, refused, own) from refused\n",
            "        mine = the_generation(files, paths)\n"
            "        directory = paths.generation(mine)\n"
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
        ("    if present.owner in own:\n", "    if False:\n"),
    ),
    _mutant(
        "the generation's number is not raised",
        TAKE_OVER,
        ("mine = Generation(old.number + 1,", "mine = Generation(old.number,"),
    ),
    _mutant(
        "the oldest final snapshot is the state", TAKE_OVER, ("newest = max(finals)", "newest = min(finals)")
    ),
    _mutant(
        "pending taken for not committed", TAKE_OVER, ("    if not above:\n", "    if above or not above:\n")
    ),
    _mutant(
        "a pending below the newest final is rolled forward",
        TAKE_OVER,
        (
            "if state == SnapshotState.PENDING and epoch > newest]",
            "if state == SnapshotState.PENDING]",
        ),
        ("    if above != [newest + 1]:", "    if len(above) > 1:"),
        ("    return Newest(newest + 1, True)", "    return Newest(above[0], True)"),
    ),
    # C1, C2: commit
    _mutant(
        "the draft's directory is made when it is missing",
        COMMIT,
        (
            "            write_file(ports.files, draft, data)\n",
            "            ports.files.mkdirs(tenure.directory)\n            write_file(ports.files, draft, data)\n",
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
            "    _rename_to_pending(ports, tenure, snapshot.epoch, draft, data)\n",
            "    try:\n"
            "        ports.files.rename(draft, tenure.snapshot_path(snapshot.epoch, SnapshotState.PENDING))\n"
            "    except AlreadyExists:\n"
            "        pass\n"
            "    except StorageError:\n"
            "        return tenure\n",
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
            "        draft = join(tenure.directory, draft_name",
            "        draft = join(ports.files.list(tenure.paths.table_directory)[0].path, draft_name",
        ),
        (
            "    pending = tenure.snapshot_path(epoch, SnapshotState.PENDING)\n",
            "    pending = draft.rsplit('/', 1)[0] + tenure.snapshot_path(epoch, SnapshotState.PENDING)[-16:]\n",
        ),
    ),
    _mutant(
        "a fenced run takes the table back and goes on without reading again",
        EPOCH,
        (
            "    return roll_forward(ports, commit(ports, tenure, snapshot))\n",
            "    try:\n"
            "        return roll_forward(ports, commit(ports, tenure, snapshot))\n"
            "    except Fenced:\n"
            "        there = ports.files.list(tenure.paths.table_directory)[0]\n"
            "        number = Generation.parse(there.name).number + 1\n"
            "        mine = replace(tenure, generation=replace(tenure.generation, number=number))\n"
            "        ports.files.rename(there.path, mine.directory)\n"
            "        return roll_forward(ports, commit(ports, mine, replace(snapshot, generation=number)))\n",
        ),
        (
            "from dataclasses import dataclass\n",
            "from dataclasses import dataclass, replace\n"
            "from kafka2hive.model.errors import Fenced\n"
            "from kafka2hive.model.layout import Generation\n",
        ),
    ),
    _mutant(
        "promote before commit",
        EPOCH,
        (
            "    return roll_forward(ports, commit(ports, tenure, snapshot))\n",
            "    promote(ports, tenure, snapshot.files)\n"
            "    return roll_forward(ports, commit(ports, tenure, snapshot))\n",
        ),
    ),
    # R4, R6: roll forward, promote
    _mutant(
        "no roll-forward",
        START,
        (
            "    published = roll_forward(ports, tenure, given_up)\n",
            "    published = Published(finalise(ports, tenure) if tenure.pending else tenure, MoveCounts())\n",
        ),
        (
            "import roll_forward\n",
            "import Published\nfrom kafka2hive.ledger.finalise import finalise\n",
        ),
    ),
    _mutant(
        "a start's roll-forward is forgotten and the state called final",
        START,
        (
            "    published = roll_forward(ports, tenure, given_up)\n",
            "    published = Published(tenure.finalised(), MoveCounts())\n",
        ),
        ("import roll_forward\n", "import Published\n"),
    ),
    _mutant(
        "final before promoted",
        EPOCH,
        (
            "    moves = promote(ports, tenure, tenure.state.files, given_up)\n"
            "    return Published(finalise(ports, tenure), moves)\n",
            "    final = finalise(ports, tenure)\n"
            "    return Published(final, promote(ports, tenure, tenure.state.files, given_up))\n",
        ),
    ),
    _mutant(
        "the final place is looked at before the staged one",
        WHEREABOUTS,
        (
            "    staged = length_at(files, file.staged)\n    final = length_at(files, file.final)\n",
            "    final = length_at(files, file.final)\n    staged = length_at(files, file.staged)\n",
        ),
    ),
    _mutant(
        "both missing is STOP without asking whether my directory is still mine",
        PROMOTE,
        ("        list_own_directory(files, tenure)\n        raise found\n", "        raise found\n"),
    ),
    _mutant(
        "promote errors ignored",
        PROMOTE,
        (
            '            log.warning("promote %s epoch %d: %s", file.final, tenure.state.epoch, error)\n',
            "            return Answer.DONE\n",
        ),
    ),
    _mutant(
        "the first file already moved means all are",
        PROMOTE,
        (
            "    retries = [0]\n",
            "    retries = [0]\n    if files and files[0].staged not in lengths:\n        return MoveCounts()\n",
        ),
    ),
    _mutant(
        "a staged length that differs is STOP without looking at the final place",
        PROMOTE,
        ("        final = length_at(files, file.final)\n", "        final = None\n"),
    ),
    _mutant(
        "the final place is cleared before the move",
        PROMOTE,
        (
            "            try:\n                ports.files.rename(file.staged, file.final)\n",
            "            try:\n                ports.files.delete(file.final)\n"
            "                ports.files.rename(file.staged, file.final)\n",
        ),
    ),
    _mutant(
        "out of patience taken for done",
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
            "    return Published(finalise(ports, tenure), moves)",
            "    return Published(tenure.finalised(), moves)",
        ),
    ),
    # R8: Hive
    _mutant(
        "debts not carried",
        DRAFT,
        ("(change.open_debts | touched(change.files)) -", "touched(change.files) -"),
    ),
    _mutant(
        "own partitions not in the debts",
        DRAFT,
        ("(change.open_debts | touched(change.files)) -", "change.open_debts -"),
    ),
    _mutant(
        "debts forgotten when Hive fails",
        REGISTER,
        ("        return self.failed_unavailable.union(", "        return frozenset().union("),
    ),
    _mutant(
        "a lost answer of Hive taken for done",
        REGISTER,
        (
            "        except MetastoreUnavailable as error:\n            self._lost(error, batch)\n",
            "        except MetastoreUnavailable:\n            self.paid.update(batch)\n",
        ),
    ),
    _mutant(
        "debts of a final snapshot ignored by the start",
        DRIVER,
        (
            "frozenset(started.tenure.state.debts)",
            "frozenset(started.tenure.state.debts if started.rolled_forward is not None else ())",
        ),
    ),
    # R9: hygiene
    _mutant(
        "sweep before the take-over",
        START,
        (
            "    tenure = take_over(ports,",
            "    view = look(ports.files, order.paths)\n"
            "    guess = Tenure(order.paths, Generation(view.generation.number + 1), view.state)\n"
            "    sweep_staging(ports, guess, staging_directory(order.location))\n"
            "    tenure = take_over(ports,",
        ),
        _LOOK_TOO,
    ),
    _mutant(
        "sweep by somebody who does not own the table",
        START,
        (
            "    tenure = take_over(ports,",
            "    view = look(ports.files, order.paths)\n"
            "    guess = Tenure(order.paths, view.generation, view.state)\n"
            "    sweep_staging(ports, guess.committed(view.state).finalised(), staging_directory(order.location))\n"
            "    tenure = take_over(ports,",
        ),
        _LOOK_TOO,
    ),
    _mutant(
        "sweep before the roll-forward",
        START,
        (
            "    published = roll_forward(",
            "    sweep_staging(ports, tenure.finalised(), staging_directory(location))\n"
            "    published = roll_forward(",
        ),
    ),
    _mutant("sweep of the running epoch", HYGIENE, ("parsed[0].epoch) < mine:", "parsed[0].epoch) <= mine:")),
    _mutant(
        "sweep of newer generations",
        HYGIENE,
        (
            "(parsed[0].generation, parsed[0].epoch) < mine:",
            "(parsed[0].generation != mine[0] or parsed[0].epoch < mine[1]):",
        ),
    ),
    _mutant(
        "sweep of another ledger's files",
        HYGIENE,
        ("if parsed and parsed[0].ledger == tag and (", "if parsed and ("),
    ),
    _mutant("nothing is swept", HYGIENE, ("            orphans.append(child.path)\n", "            pass\n")),
    _mutant(
        "drafts and junk are not swept",
        HYGIENE,
        ("            junk.append(child.path)\n", "            pass\n"),
    ),
    _mutant("the newest final is archived", HYGIENE, ("sorted(finals)[: -max(keep, 1)]", "sorted(finals)")),
    _mutant(
        "a pending snapshot is archived",
        START,
        (
            "    published = roll_forward(",
            "    if tenure.pending:\n"
            "        archive = tenure.paths.archive(tenure.generation)\n"
            "        try:\n"
            "            ports.files.mkdirs(archive)\n"
            "            ports.files.rename(tenure.state_path, archive + tenure.state_path[-16:])\n"
            "        except StorageError as error:\n"
            "            raise Surprise('mutant', 'again') from error\n"
            "    published = roll_forward(",
        ),
        (
            "from kafka2hive.model.layout import Generation,",
            "from kafka2hive.storage.port import StorageError\nfrom kafka2hive.model.layout import Generation,",
        ),
    ),
    _mutant(
        "old finals are deleted, not archived",
        HYGIENE,
        (
            "            ports.files.rename(join(tenure.directory, name), join(archive, name))\n",
            "            ports.files.delete(join(tenure.directory, name))\n",
        ),
    ),
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
)

"""The inbox of a service: an operator's orders to the run that owns a table (docs/protocol.md, A live service takes orders).

`<ledger root>/inbox/<service>/<id>.json` is written under another name and renamed, so it appears once and whole. The owner
records the order's id in the snapshot that carries it out, and only then moves the file to `done/`. A file that is not an
order is moved to `rejected/`. A new kind of order needs a class in Instruction, and the code in service/orders/answers.py.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import ClassVar, get_args

import orjson

from kafka2hive.ledger.ports import Answer, Ports, answer_to, log, retry
from kafka2hive.model.errors import AmbiguousOutcome, StateUnknown
from kafka2hive.model.paths.ledger import (
    DONE_ORDERS,
    REJECTED_ORDERS,
    fault_of_table,
    inbox_directory,
    order_draft_name,
    order_name,
    parse_order_name,
)
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import (
    AlreadyExists,
    FileStatus,
    NotFound,
    StorageError,
    children,
    in_its_directory,
    length_at,
    write_file,
)

FORMAT = 1
MOST_BYTES = 64 * 1024
"""A larger file is not an order, and is not read."""


@dataclass(frozen=True, slots=True)
class PauseTable:
    """Plan no records for the table until it is resumed."""

    kind: ClassVar = "pause"


@dataclass(frozen=True, slots=True)
class ResumeTable:
    """Plan records for the table again."""

    kind: ClassVar = "resume"


@dataclass(frozen=True, slots=True)
class GiveUpRegistration:
    """Give up a pending registration that Hive refuses: partition `partition` (`dt=2013-01-17`) of `hive_table`."""

    hive_table: str
    partition: str
    kind: ClassVar = "forget-registration"


@dataclass(frozen=True, slots=True)
class ReplayLetters:
    """Decode dead letters again: those with this `reason`, of records since the time `since` (ISO 8601, UTC); "" selects all.

    `rules` is the digest of the table's rules in the operator's map: a run with other rules must not carry the order out.
    """

    reason: str
    since: str
    rules: str
    kind: ClassVar = "replay"
    command: ClassVar = "dead-letters replay"


@dataclass(frozen=True, slots=True)
class CompactPartitions:
    """Compact the complete partitions of the table now, whatever the time of day."""

    kind: ClassVar = "compact"
    command: ClassVar = "compact"


@dataclass(frozen=True, slots=True)
class ReloadMap:
    """Take the tables of the map's file again, if it has the fingerprint `map`. An order to a run, not to a table.

    `mode` is PLAN, which only asks what would change, or APPLY. The answer is in the run's conditions, not in a snapshot.
    """

    map: str
    mode: str
    kind: ClassVar = "reload"


PLAN, APPLY = "plan", "apply"
LongInstruction = ReplayLetters | CompactPartitions
"""Instructions that take a run many snapshots. Without a live run, their `command` does the same without an order."""
TableInstruction = PauseTable | ResumeTable | GiveUpRegistration | LongInstruction
Instruction = TableInstruction | ReloadMap
_KINDS = {kind.kind: kind for kind in get_args(Instruction)}
_COMMON = ("format", "id", "service", "table", "by", "given", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An operator's instruction to the owner of `table`; of a ReloadMap, which is to the whole run, `table` is "".

    `given_at` is ISO 8601 in UTC, by the command's clock.
    """

    id: str
    service: str
    table: str
    given_by: str
    given_at: str
    instruction: Instruction


@dataclass(frozen=True, slots=True)
class Misfit:
    """A file in the inbox that is not an order to this service: its name, a stable code, and what is wrong with it."""

    name: str
    code: str
    message: str


class NotAnOrder(ValueError):
    """The file does not hold an order to this service; `code` is stable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def encode(order: Order) -> bytes:
    """Return the order as one JSON object."""
    common = (FORMAT, order.id, order.service, order.table, order.given_by, order.given_at)
    document = dict(zip(_COMMON, (*common, order.instruction.kind), strict=True))
    return orjson.dumps(document | asdict(order.instruction), option=orjson.OPT_INDENT_2)


def decode(data: bytes, order_id: str, service: str) -> Order:
    """Parse the order in the file of this id, in the inbox of this service. Raises NotAnOrder."""
    try:
        document = orjson.loads(data)
    except ValueError as error:
        raise NotAnOrder("order.malformed", f"it is not JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise NotAnOrder("order.malformed", f"it is not an order of format {FORMAT}")
    kind = _KINDS.get(str(document.get("kind")))
    if kind is None:
        raise NotAnOrder("order.malformed", f"its kind {document.get('kind')!r} is unknown to this version")
    arguments = [field.name for field in fields(kind)]
    texts = (*_COMMON[1:], *arguments)
    if {*document} != {"format", *texts} or any(type(document[name]) is not str for name in texts):
        raise NotAnOrder(
            "order.malformed", f"a {kind.kind} order must have exactly the texts {', '.join(texts)}"
        )
    fault = "" if kind is ReloadMap and not document["table"] else fault_of_table(document["table"])
    if fault:
        raise NotAnOrder("order.malformed", f"its table is {document['table']!r}: {fault}")
    for what, wanted in (("id", order_id), ("service", service)):
        if document[what] != wanted:
            raise NotAnOrder(
                "order.foreign",
                f"its {what} is {document[what]!r}, but its path is that of {what} {wanted!r}",
            )
    return Order(
        id=order_id,
        service=service,
        table=document["table"],
        given_by=document["by"],
        given_at=document["given"],
        instruction=kind(*(document[name] for name in arguments)),
    )


class Inbox:
    """The inbox of one service, as operators and owners use it."""

    def __init__(self, ports: Ports, root: str, service: str) -> None:
        self._ports = ports
        self.directory = inbox_directory(root, service)
        self._service = service

    def give(self, order: Order) -> str:
        """Put the order into the inbox, and return the path of its file.

        A crash leaves a draft, which has no effect, or the order. Raises AmbiguousOutcome, TableError (no permission or space).
        """
        files, path = self._ports.files, join(self.directory, order_name(order.id))
        draft = ""

        def write() -> Answer:
            nonlocal draft
            draft = join(self.directory, order_draft_name(self._ports.new_uuid()))
            try:
                in_its_directory(files, draft, lambda: write_file(files, draft, encode(order)))
            except StorageError as error:
                log.warning("write %s: %s", draft, error)
                return answer_to(error)
            return Answer.DONE

        def rename() -> Answer:
            try:
                files.rename(draft, path)
            except StorageError as error:
                log.warning("rename %s: %s", draft, error)
                if self._has_arrived(order.id):
                    return Answer.DONE
                if self._length(draft) is not None:
                    return answer_to(error)
                if self._has_arrived(order.id):  # a delayed rename was done between the two looks
                    return Answer.DONE
                raise AmbiguousOutcome("order.vanished", f"neither {draft} nor {path} exists") from error
            return Answer.DONE

        retry(self._ports, "write", self.directory, write)
        retry(self._ports, "rename", path, rename)
        return path

    def _has_arrived(self, order_id: str) -> bool:
        return any(self._length(path) is not None for path in self._places(order_id))

    def _places(self, order_id: str) -> list[str]:
        """Return the paths at which the order's file can be; the inbox, which it leaves, comes first."""
        directories = (
            self.directory,
            join(self.directory, DONE_ORDERS),
            join(self.directory, REJECTED_ORDERS),
        )
        return [join(directory, order_name(order_id)) for directory in directories]

    def _length(self, path: str) -> int | None:
        try:
            return length_at(self._ports.files, path)
        except StorageError as error:
            raise StateUnknown("order.no_answer", f"looking for {path}: {error}") from error

    def is_rejected(self, order_id: str) -> bool:
        """Return whether an owner has moved the order to `rejected/`. Raises StateUnknown."""
        return self._length(join(self.directory, REJECTED_ORDERS, order_name(order_id))) is not None

    def look(self) -> tuple[list[Order], list[Misfit], set[str]]:
        """Return the orders, earliest first, the files that are not orders, and the ids of orders that cannot be read now.

        An order that cannot be read now is still valid; the next look reads it. Raises StorageError.
        """
        orders, misfits, unreadable = [], [], set()
        for entry in self._entries():
            match self._read(entry):
                case Order() as order:
                    orders.append(order)
                case Misfit() as misfit:
                    misfits.append(misfit)
                case str() as order_id:
                    unreadable.add(order_id)
        return sorted(orders, key=lambda order: (order.given_at, order.id)), misfits, unreadable

    def _entries(self) -> Iterator[FileStatus]:
        for entry in children(self._ports.files, self.directory):
            parsed = parse_order_name(entry.name)
            is_draft = parsed is not None and parsed[1]
            if not is_draft and entry.name not in (DONE_ORDERS, REJECTED_ORDERS):
                yield entry

    def _read(self, entry: FileStatus) -> Order | Misfit | str:
        """Return the order, the misfit, or the order's id if its file cannot be read now."""
        parsed = parse_order_name(entry.name)
        if parsed is None or entry.is_directory or entry.length > MOST_BYTES:
            return Misfit(entry.name, "order.foreign", "it does not have the name and size of an order")
        try:
            return decode(self._ports.files.read(entry.path), parsed[0], self._service)
        except NotAnOrder as error:
            return Misfit(entry.name, error.code, str(error))
        except StorageError as error:
            log.debug("read %s: %s", entry.path, error)
            return parsed[0]

    def move_to_done(self, order: Order) -> bool:
        """Move the file of an order that a snapshot records to `done/`. Return whether it has left the inbox."""
        return self._move(order_name(order.id), DONE_ORDERS)

    def reject(self, name: str) -> bool:
        """Move a file that is not an order to this service to `rejected/`. Return whether it has left the inbox."""
        return self._move(name, REJECTED_ORDERS)

    def _move(self, name: str, directory: str) -> bool:
        files, source = self._ports.files, join(self.directory, name)
        target = join(self.directory, directory, name)
        for path in (target, f"{target}.{self._ports.new_uuid()}"):
            try:
                in_its_directory(files, path, partial(files.rename, source, path))
            except NotFound:
                return True
            except AlreadyExists:
                continue
            except StorageError as error:
                log.warning("move %s to %s: %s", source, path, error)
                return False
            return True
        return False


def new_order(ports: Ports, service: str, table: str, given_by: str, instruction: Instruction) -> Order:
    """Return an order with a new id, given now."""
    return Order(
        id=ports.new_uuid(),
        service=service,
        table=table,
        given_by=given_by,
        given_at=ports.clock.now(),
        instruction=instruction,
    )

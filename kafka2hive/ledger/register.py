"""Register partitions with data in Hive, and keep their locations: rules R8, K6 and K7 of docs/protocol.md.

A failure of Hive never stops data.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby

from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import Metastore, MetastoreRefused, MetastoreUnavailable
from kafka2hive.model.paths.path import same_location
from kafka2hive.model.paths.table_directory import other_place

log = logging.getLogger(__name__)

_BATCH = 200


@dataclass(frozen=True, slots=True)
class RegistrationResult:
    """The outcome of each pending registration, each in exactly one of four fields.

    - `registered`: Hive has it at its location.
    - `failed_unavailable`: it stays pending and is tried again; `outage` is the first error.
    - `refused`: it stays pending; the value is Hive's reason.
    - `misplaced`: it stays pending; Hive has it at another location (the value), so its rows are hidden.
    """

    registered: frozenset[HivePartition] = frozenset()
    failed_unavailable: frozenset[HivePartition] = frozenset()
    refused: dict[HivePartition, str] = field(default_factory=dict)
    misplaced: dict[HivePartition, str] = field(default_factory=dict)
    outage: MetastoreUnavailable | None = None


def register(
    metastore: Metastore, unregistered: Collection[HivePartition], checked: Collection[HivePartition] = ()
) -> RegistrationResult:
    """Add each partition of `unregistered` to Hive and compare its location, unless `checked` has it (compared before).

    The partitions may be of data and dead-letter tables; an unpartitioned table (path '') counts as registered. A call may be
    repeated, also after a crash, which leaves some partitions added. Hive's errors are in the result, not raised. After the
    first outage Hive is not asked again, so a server that hangs costs one time limit.
    """
    work = _Registrations(metastore, checked)
    work.registered.update(partition for partition in unregistered if not partition.path)
    ordered = sorted({partition for partition in unregistered if partition.path})
    for _, of_table in groupby(ordered, key=lambda partition: partition.table):
        for batch in _batches(list(of_table)):
            work.add(batch)
    return RegistrationResult(
        registered=frozenset(work.registered),
        failed_unavailable=frozenset(work.unavailable),
        refused=work.refused,
        misplaced=work.misplaced,
        outage=work.outage,
    )


class _Registrations:
    """The pending registrations of one call, by outcome so far."""

    def __init__(self, metastore: Metastore, checked: Collection[HivePartition]) -> None:
        self._metastore = metastore
        self._checked = frozenset(checked)
        self.registered: set[HivePartition] = set()
        self.unavailable: set[HivePartition] = set()
        self.refused: dict[HivePartition, str] = {}
        self.misplaced: dict[HivePartition, str] = {}
        self.outage: MetastoreUnavailable | None = None

    def add(self, batch: Sequence[HivePartition]) -> None:
        """Add the whole batch by one statement; if Hive refuses it, halve the batch until each refused partition is alone."""
        if self.outage:
            self.unavailable.update(batch)
            return
        try:
            where = self._metastore.add_partitions(batch)
        except MetastoreUnavailable as error:
            self._keep_pending(error, batch)
        except MetastoreRefused as error:
            if len(batch) == 1:
                log.warning("Hive refuses partition %s of %s: %s", batch[0].path, batch[0].table, error)
                self.refused[batch[0]] = str(error)
            else:
                middle = len(batch) // 2
                self.add(batch[:middle])
                self.add(batch[middle:])
        else:
            self.registered.update(self._checked.intersection(batch))
            self._compare([partition for partition in batch if partition not in self._checked], where)

    def _compare(self, batch: Sequence[HivePartition], known: Mapping[HivePartition, str]) -> None:
        """Compare the locations: ADD IF NOT EXISTS keeps a partition at another location, which would hide the rows."""
        unanswered, elsewhere = dict.fromkeys(batch), list[HivePartition]()
        unknown = (partition for partition in batch if partition not in known)
        answers = ((partition, known[partition]) for partition in batch if partition in known)
        try:
            for partition, where in chain(answers, self._metastore.locations(unknown)):
                del unanswered[partition]
                if isinstance(where, MetastoreRefused):
                    self.refused[partition] = str(where)
                elif (
                    where is None
                ):  # somebody has dropped it since it was added: it stays a pending registration
                    self.unavailable.add(partition)
                elif same_location(where, partition.location):
                    self.registered.add(partition)
                elif same_location(where, other_place(partition.location, partition.path)):
                    elsewhere.append(partition)
                else:
                    self.misplaced[partition] = where
        except MetastoreUnavailable as error:
            self._keep_pending(error, [*unanswered, *elsewhere])
        else:
            self._set_locations(elsewhere)

    def _set_locations(self, elsewhere: Sequence[HivePartition]) -> None:
        """Set Hive's locations to the ledger's; Hive has the partitions at the other of their two places (K6)."""
        unanswered = dict.fromkeys(elsewhere)
        try:
            for partition, refusal in self._metastore.set_locations(elsewhere):
                del unanswered[partition]
                if refusal is None:
                    self.registered.add(partition)
                else:
                    self.refused[partition] = str(refusal)
        except MetastoreUnavailable as error:
            self._keep_pending(error, list(unanswered))

    def _keep_pending(self, error: MetastoreUnavailable, partitions: Sequence[HivePartition]) -> None:
        self.outage = error
        log.warning("registrations stay pending: %s", error)
        self.unavailable.update(partitions)


@dataclass(frozen=True, slots=True)
class LocationCheck:
    """The result of a look (see the glossary) at the locations of watched partitions.

    A partition has two places, its early place and its home. The ledger has it at one of them; the other one is wrong.

    - `right`: Hive does not have it at the wrong place.
    - `corrected`: Hive had it at the wrong place, and its location has been set to the right one.
    - `put_back`: Hive has it at the wrong place, until a snapshot without its `right_since` is committed (K8).
    - `refused`: Hive refused the request, for the reason that is the value.
    - `outage`: the first error; the partitions after it were not looked at.
    """

    right: frozenset[HivePartition] = frozenset()
    corrected: frozenset[HivePartition] = frozenset()
    put_back: frozenset[HivePartition] = frozenset()
    refused: dict[HivePartition, str] = field(default_factory=dict)
    outage: MetastoreUnavailable | None = None


def keep_locations(
    metastore: Metastore,
    watched: Iterable[HivePartition],
    is_watched: Callable[[HivePartition], bool] = lambda partition: True,
    is_counted: Callable[[HivePartition], bool] = lambda partition: False,
) -> LocationCheck:
    """Compare the location of each watched partition, and correct it if somebody has put it back (K7).

    Partitions that Hive does not have, or has elsewhere, stay as they are: somebody dropped or moved them on purpose. A
    partition is left out if `is_watched` is false when its turn comes. If `is_counted` is true (the ledger has its
    `right_since`), its location is not corrected yet. A call may be repeated at any time; a crash leaves some corrected.
    """
    right: set[HivePartition] = set()
    wrong: list[HivePartition] = []
    corrected: set[HivePartition] = set()
    put_back: set[HivePartition] = set()
    refused: dict[HivePartition, str] = {}
    outage = None
    try:
        for partition, where in metastore.locations(filter(is_watched, watched)):
            if isinstance(where, MetastoreRefused):
                refused[partition] = str(where)
            elif where is None or not same_location(where, other_place(partition.location, partition.path)):
                right.add(partition)
            elif is_counted(partition):
                put_back.add(partition)
            else:
                wrong.append(partition)
    except MetastoreUnavailable as error:
        outage = error
    try:
        for partition, refusal in (
            metastore.set_locations(filter(is_watched, wrong)) if outage is None else ()
        ):
            if refusal is None:
                corrected.add(partition)
            else:
                refused[partition] = str(refusal)
    except MetastoreUnavailable as error:
        outage = error
    return LocationCheck(
        right=frozenset(right),
        corrected=frozenset(corrected),
        put_back=frozenset(put_back),
        refused=refused,
        outage=outage,
    )


def _batches(partitions: Sequence[HivePartition]) -> Iterator[Sequence[HivePartition]]:
    for start in range(0, len(partitions), _BATCH):
        yield partitions[start : start + _BATCH]

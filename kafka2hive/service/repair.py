"""What a person decides after a STOP: give a file up, dump its records again, accept a gap. All recorded in the ledger."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from kafka2hive.config.values import StartKind, StartPolicy
from kafka2hive.kafka.acceptance import GapAcceptance
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import FirstPositions, Halt, Logs, Resume, Wishes, decide
from kafka2hive.kafka.problems import stop
from kafka2hive.ledger.draft import Change
from kafka2hive.ledger.history import find_file
from kafka2hive.ledger.look import View
from kafka2hive.ledger.tenure import Tenure
from kafka2hive.ledger.whereabouts import find
from kafka2hive.model.errors import ConfigError, Stop
from kafka2hive.model.files import DataFile
from kafka2hive.model.snapshot import AcceptedGap, AcceptedLoss
from kafka2hive.service.kafka_view import last_read_epochs
from kafka2hive.service.wiring import Wiring

ACCEPT_LOSS = "accept-loss"
REFETCH = "refetch"

Refetch = Callable[[Tenure, DataFile], tuple[DataFile, ...]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The lost files of one table that a person named, with the remedy for each address."""

    files: tuple[DataFile, ...] = ()
    remedies: tuple[tuple[str, str], ...] = ()

    @property
    def finals(self) -> frozenset[str]:
        return frozenset(file.final for file in self.files)


def remedies(accept_loss: Collection[str], refetch: Collection[str]) -> dict[str, str]:
    """The remedy for each address that a person named. Raises ConfigError when one is named for both."""
    both = set(accept_loss) & set(refetch)
    if both:
        raise ConfigError("usage.both_remedies", f"{sorted(both)[0]}: give either --accept-loss or --refetch")
    return dict.fromkeys(accept_loss, ACCEPT_LOSS) | dict.fromkeys(refetch, REFETCH)


class Repairs:
    """`refetch` dumps one file's records again into staged files (kafka2hive.service.refetch)."""

    def __init__(self, wiring: Wiring, kafka: Callable[[], Kafka], refetch: Refetch) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self._refetch = refetch

    def wanted(self, ledger: View | Tenure, remedies: Mapping[str, str]) -> Wanted:
        """Find the named files in this table's ledger; what is of other tables, or there unharmed, is left out.

        Of a View the answer is advice: another owner may repair the same files meanwhile. Raises Stop, StorageError.
        """
        recorded = {loss.path for loss in ledger.state.losses}
        files = []
        for path in sorted(set(remedies) - recorded):
            file = self._named(ledger, path)
            if file is not None and isinstance(find(self._wiring.ports.files, file), Stop):
                files.append(file)
        return Wanted(tuple(files), tuple((f.final, remedies[f.final]) for f in files))

    def change(self, tenure: Tenure, wanted: Wanted, gaps: Collection[GapAcceptance]) -> Change:
        """What the next snapshot records; nothing when nothing was asked. Raises Stop, ServiceUnavailable."""
        now = self._wiring.ports.clock.now()
        remedies = dict(wanted.remedies)
        losses = tuple(
            AcceptedLoss(f.final, remedies[f.final], f.rows, now, tenure.next_epoch) for f in wanted.files
        )
        again = tuple(
            new for f in wanted.files if remedies[f.final] == REFETCH for new in self._refetch(tenure, f)
        )
        return (
            self._accept(tenure, gaps, Change(files=again, losses=losses))
            if gaps
            else Change(again, losses=losses)
        )

    def _accept(self, tenure: Tenure, gaps: Collection[GapAcceptance], change: Change) -> Change:
        """`change` with the gaps and new positions of the accepted topics that this table has read."""
        topics = {gap.topic for gap in gaps} & {p.topic_partition.topic for p in tenure.state.positions}
        if not topics:
            return change
        kafka = self._kafka()
        cluster = kafka.cluster()
        wanted = [tp for t in topics if t in cluster.topics for tp in cluster.topics[t].topic_partitions()]
        earliest = kafka.earliest(wanted)
        latest = kafka.latest(wanted)
        logs = Logs(
            cluster, earliest, latest, last_read=last_read_epochs(kafka, tenure.state, earliest, latest)
        )
        decision = decide(
            tenure.state, logs, Wishes(topics, StartPolicy(StartKind.EARLIEST), acceptances=gaps)
        )
        match decision:
            case Halt(problems):
                raise stop(tenure.paths.table, problems)
            case FirstPositions(positions, accepted):
                now, epoch = self._wiring.ports.clock.now(), tenure.next_epoch
                recorded = tuple(AcceptedGap(g.range, g.reason, now, epoch) for g in accepted)
                return replace(change, first=positions, gaps=recorded, cluster_id=cluster.cluster_id)
            case Resume():
                return change
            case _:
                assert_never(decision)

    def _named(self, ledger: View | Tenure, path: str) -> DataFile | None:
        pending = [f for f in ledger.state.files if f.final == path]
        return (
            pending[0]
            if pending
            else find_file(self._wiring.ports.files, ledger.paths, ledger.directory, path)
        )

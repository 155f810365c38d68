"""Spark's view of Kafka: a stream whose offset is the number of an epoch, and that has no rows (see query.py).

Spark asks in this order (measured with 4.3.0): `prepareForTriggerAvailableNow` (only with `--once`), `initialOffset`
twice, then for each trigger `latestOffset(start)`; when that is not `start`: `commit` of the epoch before, and `partitions`.
The same offset again means no epoch; with `--once` it ends the query.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from kafka2hive.pipeline.planner_link import PlannerClient

#: The short name for `spark.readStream.format`.
FORMAT = "kafka2hive"
#: The option that holds the path of the planner's link file. Not a secret: the file is 0600.
LINK_OPTION = "link"

Offset = dict[str, int]


class PlannedEpochs(DataSource):  # type: ignore[misc]  # pyspark has no types here
    """The data source; made in the driver, used in the reader process."""

    @classmethod
    def name(cls) -> str:
        """The short name."""
        return FORMAT

    def schema(self) -> str:
        """Spark wants a column."""
        return "epoch long"

    def streamReader(self, schema: object) -> "PlannedEpochsReader":  # noqa: N802 (Spark's name)
        """Called in the reader process, once per query."""
        return PlannedEpochsReader(Path(self.options[LINK_OPTION]))


class PlannedEpochsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # untyped
    """A thin client of the planner in the driver. Its offsets mean nothing but their order."""

    def __init__(self, link: Path) -> None:
        self._link = link
        self._client: PlannerClient | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """Always before the first epoch: a query begins with a fresh checkpoint, positions are in the ledgers."""
        return {"epoch": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """The planner bounds its epochs itself."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """`--once`: what is in Kafka now is all there is to do."""
        self._planner().target()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 (Spark's name)
        """The next epoch, or `start` when nothing is due. Two parameters: Spark takes this for admission control."""
        return {"epoch": self._planner().plan(start["epoch"])}

    def reportLatestOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """For progress reports only."""
        return {"epoch": self._planner().position()}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """None: nothing is read through Spark."""
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        """Never called: there are no partitions."""
        return iter(())

    def commit(self, end: Offset) -> None:
        """Nothing: an epoch counts when its ledgers say so."""

    def stop(self) -> None:
        """The reader process ends."""
        if self._client is not None:
            self._client.close()

    def _planner(self) -> PlannerClient:
        # made at first use: Spark pickles the reader and sends it to the tasks, which must not connect
        if self._client is None:
            self._client = PlannerClient(self._link)
        return self._client

    def __getstate__(self) -> dict[str, object]:
        """Without the connection: the tasks get the reader too."""
        return {"_link": self._link, "_client": None}

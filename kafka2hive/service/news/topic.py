"""A topic of the map's Kafka cluster as a receiver of news: one CloudEvent a message, keyed by table and Hive partition."""

from collections.abc import Sequence
from typing import Protocol

from kafka2hive.config.keys import NewsReceiver
from kafka2hive.ledger.news import News
from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.service.news.cloudevents import CONTENT_TYPE, json_of
from kafka2hive.service.news.outbox import NotTaken


class TopicWriter(Protocol):
    """Writes messages to topics; see TopicProducer."""

    def write(self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]]) -> None: ...

    def close(self) -> None: ...


class TopicReceiver:
    """Writes news to the receiver's topic. An acknowledgement of all in-sync replicas says that it was taken."""

    def __init__(self, options: NewsReceiver, topic: str, writer: TopicWriter) -> None:
        self.name, self.since, self.wants = options.name, options.since, options.wants
        self._topic, self._writer = topic, writer

    def tell(self, news: News) -> None:
        """Write one message. Raises NotTaken."""
        path = news.table if news.partition is None else f"{news.partition.table}/{news.partition.path}"
        headers = [("content-type", CONTENT_TYPE.encode())]
        try:
            self._writer.write(self._topic, path.encode(), json_of(news), headers)
        except TableError as error:
            raise NotTaken(error.code, error.message, error.remedy, of_table=True) from error
        except Kafka2HiveError as error:
            raise NotTaken(error.code, error.message, error.remedy) from error

    def close(self) -> None:
        self._writer.close()

"""News as CloudEvents 1.0 (https://cloudevents.io), in the structured mode: the whole event is one JSON object."""

from typing import Any

import orjson

from kafka2hive.ledger.news import News, NewsKind
from kafka2hive.model.paths.path import parse_partition_path

CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
TYPES = {
    NewsKind.COMPLETE: "kafka2hive.partition.complete",
    NewsKind.REOPENED: "kafka2hive.partition.reopened",
    NewsKind.COMPACTED: "kafka2hive.partition.compacted",
    NewsKind.DROPPED: "kafka2hive.partition.dropped",
    NewsKind.REPLAYED: "kafka2hive.letters.replayed",
    NewsKind.LOST: "kafka2hive.history.lost",
}


def event_of(news: News) -> dict[str, Any]:
    """Return the event. Its id and source never change, so that a receiver can drop doubles by them."""
    return {
        "specversion": "1.0",
        "id": news.id,
        "source": f"urn:kafka2hive:{news.table}",
        "type": TYPES[news.kind],
        "time": news.at,
        **({"subject": news.partition.path} if news.partition is not None and news.partition.path else {}),
        "datacontenttype": "application/json",
        "data": data_of(news),
    }


def data_of(news: News) -> dict[str, Any]:
    """Return what the event says: the table, its epoch, the partition if there is one, and the facts of the line."""
    data: dict[str, Any] = {"ledger": news.ledger_id, "table": news.table, "epoch": news.epoch}
    if news.partition is not None:
        data["table"] = news.partition.table
        data["partition"] = news.partition.path
        data["values"] = {name: value or None for name, value in parse_partition_path(news.partition.path)}
        data["location"] = news.partition.location
    return data | dict(news.facts)


def json_of(news: News) -> bytes:
    """Return the event as text."""
    return orjson.dumps(event_of(news))

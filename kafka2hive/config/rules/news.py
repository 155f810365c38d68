"""The rules of the map's receivers of news."""

import re

from kafka2hive.config.keys.news import NewsReceiver
from kafka2hive.config.rules.registry import is_http_address
from kafka2hive.config.yaml.problems import Path, Problems, closest
from kafka2hive.config.yaml.shape import MapSections

_TOKEN = re.compile(r"[!-~]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[ -~\t]*")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_OWN_HEADERS = frozenset({"content-type", "content-length", "connection", "host", "transfer-encoding"})


def check_news(sections: MapSections, problems: Problems) -> None:
    """Check the receivers: names, addresses, headers, and that the map has their tables."""
    names: set[str] = set()
    for index, receiver in enumerate(sections.news or ()):
        path = ("news", index)
        if receiver.name in names:
            problems.add(
                (*path, "name"), f"{receiver.name} is repeated: ledgers tell receivers apart by their names"
            )
        names.add(receiver.name)
        _check_address(receiver, path, problems)
        _check_headers(receiver, path, problems)
        _check_tables(receiver, path, sections, problems)


def _check_address(receiver: NewsReceiver, path: Path, problems: Problems) -> None:
    if (receiver.url is None) == (receiver.topic is None):
        problems.add(path, "needs either url or topic")
    if receiver.topic is not None:
        _check_topic(receiver, receiver.topic, path, problems)
    if receiver.url is None:
        return
    if not _is_address(receiver.url):
        near = f"http://{receiver.url}" if "://" not in receiver.url else ""
        problems.add(
            (*path, "url"),
            "expected http(s)://host:port[/path], without user, ? or #",
            near if _is_address(near) else "",
        )
    elif receiver.ca_file is not None and not receiver.url.startswith("https:"):
        problems.add((*path, "ca_file"), "is used only with https://")
    if receiver.token is not None and not _TOKEN.fullmatch(receiver.token):
        problems.add((*path, "token"), "a token must be one word of ASCII characters")


def _check_topic(receiver: NewsReceiver, topic: str, path: Path, problems: Problems) -> None:
    if not _TOPIC.fullmatch(topic):
        problems.add((*path, "topic"), "expected letters, digits, ., _ and -, at most 249")
    if receiver.url is None:
        for key in ("token", "headers", "ca_file"):
            if getattr(receiver, key):
                problems.add((*path, key), "is used only with url: a topic uses the map's kafka section")


def _is_address(url: str) -> bool:
    return is_http_address(url) and not any(mark in url for mark in "@?#")


def _check_headers(receiver: NewsReceiver, path: Path, problems: Problems) -> None:
    known: set[str] = set()
    for name, value in receiver.headers:
        here, lower = (*path, "headers", name), name.lower()
        if not _HEADER.fullmatch(name):
            problems.add(here, "is not the name of a header")
        elif lower in _OWN_HEADERS:
            problems.add(here, "must not be set: it belongs to the request")
        elif lower == "authorization" and receiver.token is not None:
            problems.add(here, "excludes token: keep one of the two")
        elif lower in known:
            problems.add(here, "the header is repeated")
        if not _VALUE.fullmatch(value):
            problems.add(here, "a header's value must be ASCII characters without line breaks")
        known.add(lower)


def _check_tables(receiver: NewsReceiver, path: Path, sections: MapSections, problems: Problems) -> None:
    """Check that the map has the tables; what a pattern makes is not known before Kafka is asked."""
    tables = sections.tables.values()
    if sections.keys is None or any(table.pattern is not None for table in tables):
        return
    known = {table.table for table in tables}
    for index, name in enumerate(receiver.tables):
        if name not in known:
            problems.add((*path, "tables", index), f"{name} is not a table of the map", closest(name, known))

"""Records on which a decoder may be weak, made from real flights: each gives its bytes in the order of production.

A seed of its own makes every run produce the same bytes. `COUNT` distinct records each; a topic holds copies of them.
"""

import base64
import random
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from tests.services.flights import flights

COUNT = 50_000
Row = dict[str, Any]

_LOGGERS = ("o.a.k.clients.NetworkClient", "org.example.booking.SeatMap", "org.example.fares.Quote")
_SENTENCES = (
    "could not reserve the seat within the time that the caller allows, trying the next aircraft of the rotation",
    'the gateway answered "503 Service Unavailable" after three attempts; the request stays queued for the next minute',
    "fare rules were loaded from the cache because the origin was not reachable from this data centre (path /v2/rules)",
)
_TAGS = ("region", "zone", "host", "release", "customer", "channel", "locale", "trace")


def sample() -> Iterator[Row]:
    """Flights of the whole year, in order of time."""
    return (orjson.loads(record) for record in flights()[::6][:COUNT])


def random_keys() -> Iterator[bytes]:
    """Every flight's keys in an order of its own."""
    draw = random.Random(1)
    for row in sample():
        items = list(row.items())
        draw.shuffle(items)
        yield orjson.dumps(dict(items))


def two_orders() -> Iterator[bytes]:
    """As two producers write them: every other flight's keys in reverse."""
    for n, row in enumerate(sample()):
        yield orjson.dumps(dict(reversed(row.items())) if n % 2 else row)


def missing_keys() -> Iterator[bytes]:
    """A fifth of the keys left out, never the time."""
    draw = random.Random(2)
    for row in sample():
        yield orjson.dumps({k: v for k, v in row.items() if k == "time_hour" or draw.random() >= 0.2})


def doubles() -> Iterator[bytes]:
    """Ten numbers with 16 or 17 digits, as sensors and models write them."""
    return _drawn(3, lambda draw: {f"x{k}": draw.uniform(-1, 1) * 10.0 ** (k - 2) for k in range(10)})


def prices() -> Iterator[bytes]:
    """Ten numbers with two digits after the point, in columns of type double."""
    return _drawn(4, lambda draw: {f"p{k}": draw.randrange(100, 10_000_000) / 100 for k in range(10)})


def decimals() -> Iterator[bytes]:
    """Four numbers with four digits after the point: twelve digits survive a judge who reads them as doubles."""
    return _drawn(5, lambda draw: {f"d{k}": draw.randrange(-(10**12), 10**12) / 10_000 for k in range(4)})


def maps() -> Iterator[bytes]:
    """A map of eight strings."""
    return _drawn(6, lambda draw: {"tags": {tag: f"{tag[0]}-{draw.randrange(3_000)}" for tag in _TAGS}})


def binary() -> Iterator[bytes]:
    """200 bytes as base64."""
    return _drawn(7, lambda draw: {"body": base64.b64encode(draw.randbytes(200)).decode()})


def log() -> Iterator[bytes]:
    """A log line: few short members and a long text, in which quotes are escaped."""

    def members(draw: random.Random) -> Row:
        thread = f"worker-{draw.randrange(64)}"
        text = f"{_SENTENCES[draw.randrange(3)]} [request {draw.getrandbits(64):016x}, {draw.randrange(5_000)} ms]"
        host = f"booking-{draw.randrange(200):03d}.eu-central.example.org"
        logger = _LOGGERS[draw.randrange(3)]
        return {"level": "WARN", "host": host, "logger": logger, "thread": thread, "message": text}

    return _drawn(8, members)


def _drawn(seed: int, members: Callable[[random.Random], Row]) -> Iterator[bytes]:
    draw = random.Random(seed)
    return (orjson.dumps({"at": row["time_hour"], **members(draw)}) for row in sample())

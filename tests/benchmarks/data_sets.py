"""The records that are dumped: real flights, and shapes made from them that stress something else.

flights    309 bytes, 19 columns, in order of time, by month
wide       1.5 KB, nested: structs, arrays of texts and of structs
narrow     60 bytes, 3 columns
scattered  flights whose hours are out of order over 48 buckets
"""

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import orjson

from tests.benchmarks.peers.shape import Shape
from tests.services.flights import flights

_NUMBERS = (
    *("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time"),
    *("arr_delay", "flight", "air_time", "distance", "hour", "minute"),
)
_TEXTS = ("carrier", "tailnum", "origin", "dest")
_FLIGHT = {**dict.fromkeys(_NUMBERS, "bigint"), **dict.fromkeys(_TEXTS, "string"), "time_hour": "timestamp"}
_STOP = "struct<airport:string,planned:bigint,actual:bigint,remark:string>"
_WIDE = {
    **_FLIGHT,
    "crew": "array<string>",
    "stops": f"array<{_STOP}>",
    "booking": "struct<code:string,price:double,seats:struct<business:bigint,economy:bigint>,notes:string>",
}
_REMARKS = (
    "departed from the gate with all doors closed, slot confirmed by the tower at the planned minute",
    "held on the taxiway behind a heavier aircraft; the crew reported light rain and a wet runway",
    "boarding began late because the incoming aircraft arrived from its earlier leg behind schedule",
)
_HOURS = 48
_PER_COPY = 50_000  # distinct wide records


@dataclass(frozen=True, slots=True)
class DataSet:
    """`each` makes the distinct records in the order in which they are produced; a topic holds copies of them."""

    name: str
    shape: Shape
    each: Callable[[], Iterator[bytes]]

    def records(self) -> tuple[bytes, ...]:
        """All of them, kept for the next call: some 100 MB."""
        return _kept(self.each)


@cache
def _kept(each: Callable[[], Iterator[bytes]]) -> tuple[bytes, ...]:
    return tuple(each())


def _flights() -> Iterator[bytes]:
    return iter(flights())


def _wide() -> Iterator[bytes]:
    return (orjson.dumps(_widened(n, record)) for n, record in enumerate(flights()[::6][:_PER_COPY]))


def _widened(n: int, record: bytes) -> dict[str, object]:
    row: dict[str, object] = orjson.loads(record)
    stops = [
        {
            "airport": f"{row['dest']}{k}",
            "planned": n + k,
            "actual": n * 3 + k,
            "remark": _REMARKS[(n + k) % 3],
        }
        for k in range(4 + n % 3)
    ]
    seats = {"business": n % 30, "economy": 100 + n % 90}
    notes = f"{_REMARKS[n % 3]}; {_REMARKS[(n + 1) % 3]} ({n})"
    booking = {"code": f"B{n:06d}", "price": 19.5 + n % 400, "seats": seats, "notes": notes}
    return row | {
        "crew": [f"{row['carrier']}-{(n * k) % 997:03d}" for k in range(1, 7)],
        "stops": stops,
        "booking": booking,
    }


def _narrow() -> Iterator[bytes]:
    hours = (orjson.loads(record)["time_hour"] for record in flights())
    return (orjson.dumps({"id": n, "at": hour, "v": n % 1000 / 8}) for n, hour in enumerate(hours))


def _scattered() -> Iterator[bytes]:
    first = datetime.datetime(2013, 1, 1, tzinfo=datetime.UTC)
    hours = [f"{first + datetime.timedelta(hours=n):%Y-%m-%dT%H:00:00Z}" for n in range(_HOURS)]
    # multiplying by an odd constant and dropping low bits: no order, but the same in every run
    rows = (orjson.loads(record) for record in flights())
    return (
        orjson.dumps(row | {"time_hour": hours[(n * 2_654_435_761 >> 16) % _HOURS]})
        for n, row in enumerate(rows)
    )


DATA_SETS = {
    data.name: data
    for data in (
        DataSet("flights", Shape(_FLIGHT, "time_hour", "month"), _flights),
        DataSet("wide", Shape(_WIDE, "time_hour", "month"), _wide),
        DataSet("narrow", Shape({"id": "bigint", "at": "timestamp", "v": "double"}, "at", "month"), _narrow),
        DataSet("scattered", Shape(_FLIGHT, "time_hour", "hour"), _scattered),
    )
}

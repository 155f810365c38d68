"""The records that are dumped: real flights, and shapes made from them that stress something else.

flights       309 bytes, 19 columns, in order of time, by month
wide          1.5 KB, nested: structs, arrays of texts and of structs
narrow        60 bytes, 3 columns
scattered     flights whose hours are out of order over 48 buckets
random_keys   flights, the keys of each in an order of its own
two_orders    flights, the keys of every other one in reverse
missing_keys  flights, a fifth of the keys left out
doubles       ten doubles of 16 or 17 digits
prices        ten doubles with two digits after the point
decimals      four decimal(18,4)
maps          a map<string,string> of eight entries
binary        200 bytes as base64
log           a log line of 300 bytes
avro          flights as Avro, each behind the id of its schema in a registry
protobuf      flights as plain Protobuf messages
debezium      flights as Debezium's envelopes of created rows, without a schema (600 bytes)
"""

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

import orjson

from tests.benchmarks.data import encoded, shapes
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


@dataclass(frozen=True, slots=True)
class DataSet:
    """`each` makes the distinct records in the order in which they are produced; a topic holds copies of them.

    `rows` makes the rows they hold as JSON, where the records are otherwise encoded. `schema` is to be registered; the
    head that names it is still missing from the records.
    """

    name: str
    shape: Shape
    each: Callable[[], Iterable[bytes]]
    rows: Callable[[], Iterable[bytes]] | None = None
    schema: str | None = None

    def registered(self, url: str, schema_id: int) -> "DataSet":
        """The records as a serializer writes them that has registered the schema."""
        head = b"\0" + schema_id.to_bytes(4, "big")
        shape, each = replace(self.shape, registry=url), lambda: (head + record for record in self.each())
        return replace(self, shape=shape, each=each, schema=None)

    def first(self, count: int) -> "DataSet":
        """The first records alone."""
        made, rows = self.each, self.rows
        few = None if rows is None else lambda: islice(rows(), count)
        return replace(self, each=lambda: islice(made(), count), rows=few)

    def rows_as_json(self) -> tuple[bytes, ...]:
        """One for each record, for a judge who knows no encoding."""
        return self.records() if self.rows is None else _kept(self.rows)

    def records(self) -> tuple[bytes, ...]:
        """All of them, kept for the next call: some 100 MB."""
        return _kept(self.each)


@cache
def _kept(each: Callable[[], Iterable[bytes]]) -> tuple[bytes, ...]:
    return tuple(each())


def _flights() -> Iterator[bytes]:
    return iter(flights())


def _wide() -> Iterator[bytes]:
    return (orjson.dumps(_widened(n, row)) for n, row in enumerate(shapes.sample()))


def _widened(n: int, row: shapes.Row) -> shapes.Row:
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


def _timed(**columns: str) -> Shape:
    """By month of a column `at`, which comes before these."""
    return Shape({"at": "timestamp", **columns}, "at", "month")


_IN_PROTOBUF = Shape(_FLIGHT, "time_hour", "month", "protobuf")
DATA_SETS = {
    data.name: data
    for data in (
        DataSet("flights", Shape(_FLIGHT, "time_hour", "month"), _flights),
        DataSet("wide", Shape(_WIDE, "time_hour", "month"), _wide),
        DataSet("narrow", Shape({"id": "bigint", "at": "timestamp", "v": "double"}, "at", "month"), _narrow),
        DataSet("scattered", Shape(_FLIGHT, "time_hour", "hour"), _scattered),
        DataSet("random_keys", Shape(_FLIGHT, "time_hour", "month"), shapes.random_keys),
        DataSet("two_orders", Shape(_FLIGHT, "time_hour", "month"), shapes.two_orders),
        DataSet("missing_keys", Shape(_FLIGHT, "time_hour", "month"), shapes.missing_keys),
        DataSet("doubles", _timed(**{f"x{k}": "double" for k in range(10)}), shapes.doubles),
        DataSet("prices", _timed(**{f"p{k}": "double" for k in range(10)}), shapes.prices),
        DataSet("decimals", _timed(**{f"d{k}": "decimal(18,4)" for k in range(4)}), shapes.decimals),
        DataSet("maps", _timed(tags="map<string,string>"), shapes.maps),
        DataSet("binary", _timed(body="binary"), shapes.binary),
        DataSet(
            "log",
            _timed(**dict.fromkeys(("level", "host", "logger", "thread", "message"), "string")),
            shapes.log,
        ),
        DataSet(
            "avro",
            Shape(_FLIGHT, "time_hour", "month", "avro"),
            lambda: encoded.avro(flights(), encoded.avro_schema(_FLIGHT)),
            _flights,
            encoded.avro_schema(_FLIGHT),
        ),
        DataSet(
            "protobuf",
            _IN_PROTOBUF,
            lambda: encoded.protobuf(flights(), _IN_PROTOBUF.proto),
            _flights,
        ),
        DataSet(
            "debezium",
            Shape(_FLIGHT, "time_hour", "month", "debezium"),
            lambda: encoded.debezium(flights()),
            _flights,
        ),
    )
}

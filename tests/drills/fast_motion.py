"""Flights of many hours within minutes: the wall clock of the program jumps from hour to hour, and the flights with it."""

import datetime
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import Enum
from types import TracebackType

from confluent_kafka import KafkaError, Message, Producer

from tests.drills.visible_counts import VisibleCounts
from tests.harness.clock import MovedClock
from tests.oracle.fates import TimedRecord
from tests.services.flights import COUNT, flights
from tests.services.produce import Place

HOUR, DAY = 3600, 86_400
_TICK_SECONDS = 0.1
_MOMENT = "%Y-%m-%dT%H:%M:%SZ"


class Kind(Enum):
    """What a record is when it is sent."""

    ON_TIME = "its hour is not over"
    OLD = "its hour is over, and perhaps not closed yet"
    CLOSED = "the newest snapshot has closed its hour"
    FUTURE = "three days ahead"
    PAST = "forty days old"
    DAMAGED = "no flight"


_SHARES = {Kind.OLD: 0.02, Kind.CLOSED: 0.03, Kind.FUTURE: 0.02, Kind.PAST: 0.02, Kind.DAMAGED: 0.03}


class FastMotion:
    """Sends flights of one hour after the other, each `hour_seconds` long, until `end`; moves `clock` with them.

    An hour's flights are acknowledged before the clock leaves the hour. `closed_ms` gives up to when the newest snapshot has
    closed the hours (0: none yet). `counts` hears of every record that may become a row before it is sent.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        clock: MovedClock,
        chance: random.Random,
        counts: VisibleCounts,
        closed_ms: Callable[[], int],
        *,
        hours: int,
        hour_seconds: float,
        per_second: float,
    ) -> None:
        self._topic, self._clock, self._chance, self._counts = topic, clock, chance, counts
        self._closed_ms = closed_ms
        self._hours, self._hour_seconds, self._per_second = hours, hour_seconds, per_second
        midnight = datetime.datetime.now(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self._first = int(midnight.timestamp()) - 6 * DAY
        self._offset = 0.0
        self._sent: list[tuple[TimedRecord, Kind]] = []
        self.stored: dict[Place, tuple[TimedRecord, Kind]] = {}
        self._failures: list[str] = []
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 2}
        )
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fast motion", daemon=True)
        self._hour = 0
        self._move_to(0)

    @property
    def is_over(self) -> bool:
        """Whether the last hour is."""
        return not self._thread.is_alive()

    @property
    def hour(self) -> int:
        """The number of the hour by the clock."""
        return self._hour

    def kinds(self) -> Counter[Kind]:
        """How many records of each kind Kafka holds."""
        return Counter(kind for _, kind in self.stored.values())

    def payloads(self) -> dict[Place, bytes]:
        """What Kafka holds."""
        return {place: record.payload for place, (record, _) in self.stored.items()}

    def send_closed(self, count: int) -> None:
        """Flights of the first hour, which must be closed; to be called when it is over."""
        for _ in range(count):
            number = len(self._sent) + 1
            self._send(_timed(flights()[number], number, _text(self._first)), Kind.CLOSED)
        assert self._producer.flush(120) == 0, "records are not acknowledged"

    def move_on(self, seconds: int) -> None:
        """Move the clock on; to be called when it is over."""
        self._offset += seconds
        self._clock.move(round(self._offset))

    def end(self) -> None:
        """The thread must be over: every record is acknowledged. Raises AssertionError if something failed."""
        self._thread.join(240)
        assert not self._thread.is_alive() and not self._failures, self._failures[:5]
        assert len(self.stored) == len(self._sent)

    def __enter__(self) -> "FastMotion":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(240)
        self._producer.purge()

    def _run(self) -> None:
        try:
            for hour in range(self._hours):
                self._move_to(hour)
                self._send_hour(hour)
                assert self._producer.flush(120) == 0, "records are not acknowledged"
                if self._end.is_set():
                    return
            self._move_to(self._hours)
        except Exception as error:
            self._failures.append(repr(error))
            raise

    def _send_hour(self, hour: int) -> None:
        closed_ms, began, sent = self._closed_ms(), time.monotonic(), 0
        while (passed := time.monotonic() - began) < self._hour_seconds and not self._end.wait(_TICK_SECONDS):
            while sent < passed * self._per_second:
                self._send(*self._record(hour, closed_ms))
                sent += 1
            self._producer.poll(0)

    def _record(self, hour: int, closed_ms: int) -> tuple[bytes, Kind]:
        kinds = [*_SHARES, Kind.ON_TIME]
        (kind,) = self._chance.choices(kinds, [*_SHARES.values(), 1 - sum(_SHARES.values())])
        closed = (closed_ms // 1000 - self._first) // HOUR
        if (kind is Kind.CLOSED and closed <= 0) or (kind is Kind.OLD and hour == 0):
            kind = Kind.ON_TIME
        number = len(self._sent) + 1
        source = flights()[number % COUNT]
        at = self._first + hour * HOUR + self._chance.randrange(HOUR)
        match kind:
            case Kind.OLD:
                at -= HOUR * self._chance.randint(1, min(hour, 3))
            case Kind.CLOSED:
                at = self._first + self._chance.randrange(closed * HOUR)
            case Kind.FUTURE:
                at += 3 * DAY
            case Kind.PAST:
                at -= 40 * DAY
            case Kind.DAMAGED:
                return self._damaged(source, number, at), kind
            case Kind.ON_TIME:
                pass
        if kind in (Kind.ON_TIME, Kind.OLD):
            partition = f"{datetime.datetime.fromtimestamp(at, datetime.UTC):dt=%Y-%m-%d/hr=%H}"
            self._counts.note_sent(partition, number)
        return _timed(source, number, _text(at)), kind

    def _damaged(self, source: bytes, number: int, at: int) -> bytes:
        whole = _timed(source, number, _text(at))
        return self._chance.choice(
            [whole[:200], _timed(source, f'"{number}"', _text(at)), _timed(source, number)]
        )

    def _send(self, payload: bytes, kind: Kind) -> None:
        record = TimedRecord(payload, int((time.time() + self._offset) * 1000))
        self._sent.append((record, kind))

        def report(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            if error is not None or offset is None:
                self._failures.append(str(error))
            else:
                self.stored[self._topic, message.partition() or 0, offset] = (record, kind)

        number = len(self._sent) % 2
        self._producer.produce(
            self._topic, payload, None, number, on_delivery=report, timestamp=record.timestamp_ms
        )

    def _move_to(self, hour: int) -> None:
        """Half past the hour."""
        self._offset = self._first + hour * HOUR + HOUR // 2 - time.time()
        self._clock.move(round(self._offset))
        self._hour = hour


def _text(at: int) -> str:
    return f'"{datetime.datetime.fromtimestamp(at, datetime.UTC):{_MOMENT}}"'


def _timed(source: bytes, number: int | str, time_hour: str = "null") -> bytes:
    """The flight with another hour and its number."""
    begin = source.rpartition(b',"time_hour":')[0]
    return b'%s,"time_hour":%s,"id":%s}' % (begin, time_hour.encode(), str(number).encode())

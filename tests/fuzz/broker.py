"""A task's reader of a broker whose answers are damaged on the way: no crash, no hang, and no value that was not produced.

Unlike other examples, one is not a pure function of its seed: which answer is damaged depends on the threads of librdkafka.
"""

import logging
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache

from confluent_kafka import Producer

from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.consumer import TaskConsumer
from kafka2hive.task.fetch.fetch import TableUnreadable
from kafka2hive.task.fetch.reader import RangeReader, TableDelivered
from tests.fuzz.finding import Finding
from tests.harness.mock_broker import Broker
from tests.harness.task_files import offsets

TOPIC, PARTITIONS, RECORDS = "damaged", 2, 200
STALL_SECONDS = 5.0
MOST_SECONDS = 60.0
_HOST = b"127.0.0.1"
_FETCH = b"\x00\x01"
"""The kind of request that asks for records."""
_LENGTH = struct.Struct(">i")
_HEAD_BYTES = 21
"""A batch's offset, length, leader epoch, version and checksum; the checksum covers what follows."""

Step = Callable[[socket.socket, socket.socket, set[bytes]], None]

logging.disable(
    logging.CRITICAL
)  # the client logs each damaged answer; whoever runs this process reads only its output


def fuzz_broker(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    proxy = through_proxy()
    share, most = dice.choice((0.02, 0.1, 0.3)), dice.choice((1, 3, 10))
    proxy.damage = lambda answer: _damaged_or_not(dice, answer, share, most, proxy)
    proxy.damaged = 0
    began = time.monotonic()
    properties = {
        "bootstrap.servers": proxy.address,
        "reconnect.backoff.ms": "10",
        "reconnect.backoff.max.ms": "50",
        "socket.timeout.ms": "1000",  # how long it waits for the rest of an answer that was cut short
        "fetch.message.max.bytes": str(dice.choice((2_000, 100_000))),  # many answers, or few
    }
    with closing(TaskConsumer(tuple(properties.items()))) as consumer:
        count[f"reads that {_read(consumer)}"] += 1
    count["damaged answers"] += proxy.damaged
    if time.monotonic() - began > MOST_SECONDS:
        raise Finding(f"the read took {time.monotonic() - began:.0f} s")


def _read(consumer: TaskConsumer) -> str:
    """Return how the read ended. A value that nobody produced, or a count that differs from the records, is a finding."""
    values: list[bytes] = []
    ranges = [offsets(TOPIC, number, 0, RECORDS) for number in range(PARTITIONS)]
    try:
        for event in RangeReader(consumer, {"db.t": ranges}, STALL_SECONDS, lambda: None):
            match event:
                case Chunk():
                    event.values().validate(full=True)
                    values += event.values().to_pylist()
                    if event.keys().to_pylist() != [_key(value) for value in event.values().to_pylist()]:
                        raise Finding("a record has the key of another one")
                case TableDelivered(_, delivered):
                    if sum(counts.records for counts in delivered) != len(values):
                        raise Finding(f"{len(values)} records were handed out, {delivered} counted")
                    return "were whole" if sorted(values) == sorted(_all_values()) else "lacked records"
                case TableUnreadable(_, failure):
                    return f"failed the table ({failure.code})"
    except Kafka2HiveError as error:
        return f"ended with {error.code}"
    finally:
        if unknown := set(values) - set(_all_values()):
            raise Finding(f"values that nobody produced: {sorted(unknown)[:3]}")
    raise Finding("the reader ended without an outcome")


def _damaged_or_not(
    dice: random.Random, answer: bytes, share: float, most: int, proxy: "DamagingProxy"
) -> bytes:
    batches = _batches(answer)
    if not batches or proxy.damaged >= most or dice.random() >= share:
        return _LENGTH.pack(len(answer)) + answer
    proxy.damaged += 1
    return _damaged(dice, bytearray(answer), *dice.choice(batches))


def _batches(answer: bytes) -> list[tuple[int, int]]:
    """Return where the answer's batches of records begin and end."""
    found, at = list[tuple[int, int]](), 0
    while at + 17 <= len(answer):
        offset, length = struct.unpack_from(">qi", answer, at)
        end = at + 12 + length
        if 0 <= offset < RECORDS and length > 49 and end <= len(answer) and answer[at + 16] == 2:
            found.append((at, end))
            at = end
        else:
            at += 1
    return found


def _damaged(dice: random.Random, answer: bytearray, batch: int, end: int) -> bytes:
    """Return the answer with flipped bits that the batch's checksum covers, or only its beginning, its length in front.

    Other damage is left out, because librdkafka 2.16 ends the process (an assertion) if lengths, counts or the last bytes of a
    batch are nonsense.
    """
    start, whole = batch + _HEAD_BYTES, _LENGTH.pack(len(answer))
    if dice.random() < 0.5:
        return whole + bytes(answer[: dice.randrange(start, end)])
    for _ in range(dice.choice((1, 1, 2, 8))):
        answer[dice.randrange(start, end)] ^= 1 << dice.randrange(8)
    return whole + bytes(answer)


class DamagingProxy:
    """A proxy in front of the broker at `port`; it gives each answer with records to `damage`, and sends what that returns.

    After a part of an answer it closes the connection.
    """

    def __init__(self, port: int) -> None:
        self.damage: Callable[[bytes], bytes] = lambda answer: _LENGTH.pack(len(answer)) + answer
        self.damaged = 0
        self._port = port
        self._server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.getsockname()[1]}"

    def _accept(self) -> None:
        while True:
            client, _ = self._server.accept()
            broker = socket.create_connection(("127.0.0.1", self._port))
            fetches: set[bytes] = set()  # the numbers of the requests for records
            for step in (self._requests, self._answers):
                arguments = (step, client, broker, fetches)
                threading.Thread(target=self._until_closed, args=arguments, daemon=True).start()

    def _until_closed(
        self, step: Step, client: socket.socket, broker: socket.socket, fetches: set[bytes]
    ) -> None:
        with suppress(OSError):
            step(client, broker, fetches)
        for end in (client, broker):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _requests(self, client: socket.socket, broker: socket.socket, fetches: set[bytes]) -> None:
        stream = client.makefile("rb")
        while head := stream.read(4):
            request = stream.read(_LENGTH.unpack(head)[0])
            if request[:2] == _FETCH:
                fetches.add(request[4:8])
            broker.sendall(head + request)

    def _answers(self, client: socket.socket, broker: socket.socket, fetches: set[bytes]) -> None:
        """Send the answers with the proxy's address for the broker's, so that no client goes round the proxy."""
        own = _HOST + _LENGTH.pack(self._server.getsockname()[1])
        stream = broker.makefile("rb")
        while head := stream.read(4):
            answer = stream.read(_LENGTH.unpack(head)[0])
            if answer[:4] not in fetches:
                answer = answer.replace(_HOST + _LENGTH.pack(self._port), own)
                client.sendall(head + answer)
                continue
            damaged = self.damage(answer)
            client.sendall(damaged)
            if len(damaged) < 4 + len(answer):
                return  # the rest never comes


@cache
def through_proxy() -> DamagingProxy:
    """Start a mock broker with the records of all examples, and the proxy in front of it."""
    broker = _broker()
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    producers = [
        Producer({"bootstrap.servers": broker.address, "compression.codec": codec, "linger.ms": 1_000})
        for codec in codecs
    ]
    for number, value in enumerate(_all_values()):
        producer = producers[number // PARTITIONS // 20 % len(codecs)]  # batches of at most 20 records
        producer.produce(
            TOPIC, value, _key(value), number % PARTITIONS, timestamp=number + 1, headers=[("h", value)]
        )
        if (number + 1) % (20 * PARTITIONS) == 0:
            assert producer.flush(120) == 0
    return DamagingProxy(int(broker.address.rpartition(":")[2]))


@cache
def _broker() -> Broker:
    return Broker()  # the mock broker lives as long as this object


@cache
def _all_values() -> list[bytes]:
    dice = random.Random(0)
    return [b"%06d " % number + dice.randbytes(dice.randrange(300)) for number in range(RECORDS * PARTITIONS)]


def _key(value: bytes) -> bytes | None:
    return value[:6] if int(value[:6]) % 3 else None

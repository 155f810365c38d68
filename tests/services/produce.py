"""Send records to a topic and know for certain which of them lies where."""

from collections.abc import Iterable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

Place = tuple[str, int, int]
"""Topic, number of the topic partition, offset."""


def produce(
    bootstrap: str,
    topic: str,
    records: Iterable[bytes | None],
    partitions: int | Sequence[int],
    keys: Iterable[bytes | None] | None = None,
    headers: Iterable[list[tuple[str, bytes]]] | None = None,
    times: Iterable[int] | None = None,
) -> dict[Place, bytes | None]:
    """Send `records` round robin over `partitions` (a count, or the numbers themselves); wait for all reports.

    `times` are the timestamps of the records in milliseconds, 0 for the present time.
    Gives what the broker has acknowledged: the payload at each place. Raises `KafkaException` when a record was
    not stored, and `TimeoutError` when a report is missing after five minutes.
    """
    numbers = range(partitions) if isinstance(partitions, int) else partitions
    stored: dict[Place, bytes | None] = {}
    failures: list[KafkaError] = []

    def report(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
        else:
            stored[message.topic(), message.partition(), message.offset()] = message.value()

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 500_000,
            "message.max.bytes": 16 << 20,
        }
    )
    key_of = iter(keys) if keys is not None else None
    headers_of = iter(headers) if headers is not None else None
    time_of = iter(times) if times is not None else None
    for count, record in enumerate(records):
        key = next(key_of) if key_of is not None else None
        names = next(headers_of) if headers_of is not None else None
        time = next(time_of) if time_of is not None else 0
        while True:
            try:
                producer.produce(
                    topic,
                    record,
                    key,
                    numbers[count % len(numbers)],
                    on_delivery=report,
                    headers=names,
                    timestamp=time,
                )
                break
            except BufferError:  # the queue is full: let it drain
                producer.poll(0.1)
        if count % 10_000 == 0:
            producer.poll(0)
    if left := producer.flush(300):
        raise TimeoutError(f"{left} records for {topic} were not acknowledged within five minutes")
    if failures:
        raise KafkaException(failures[0])
    return stored

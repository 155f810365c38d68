"""Speed of the decoders on real flights, single thread: `python -m tests.benchmarks.decode_speed [--format avro]`.

10,000 records a batch, ~309 bytes and 19 columns each; 0, 1 and 100 bad ones a batch, of several kinds. MB/s are
message bytes per CPU-second of the process, the best of several runs, so that a busy machine disturbs little.
"""

import argparse
import csv
import io
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa

from kafka2hive.config.keys import CsvOptions
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.avro.decoder import AvroDecoder
from kafka2hive.decode.csv import CsvDecoder
from kafka2hive.decode.json import JsonDecoder
from kafka2hive.decode.protobuf.decoder import ProtobufDecoder
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoder
from tests.benchmarks.avro_flights import ID, OneSchema, OneWriter, encoded
from tests.harness.protobuf_flights import first, schema
from tests.services.flights import flights

TEXT = {
    "carrier": "string",
    "tailnum": "string",
    "origin": "string",
    "dest": "string",
    "time_hour": "timestamp",
}
RECORDS = 10_000
SCHEMA = pa.schema([(n, parse_hive_type(TEXT.get(n, "int"))) for n in json.loads(flights()[0])])
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "wrong type": lambda message: message.replace(b'"month":', b'"month":"x","_":', 1),
    "fraction in integer": lambda message: message.replace(b'"month":', b'"month":1.5,"_":', 1),
    "syntax": lambda message: message.replace(b',"day"', b',,"day"', 1),
    "truncated": lambda message: message[:100],
}


def messages(spaces: bool) -> list[bytes]:
    """The first flights as compact JSON, or with blanks after commas and colons."""
    compact = list(flights()[:RECORDS])
    return [json.dumps(json.loads(message)).encode() for message in compact] if spaces else compact


def megabytes_per_second(decoder: Decoder, batch: list[bytes], runs: int) -> float:
    values = pa.array(batch, pa.binary())
    best = math.inf
    for _ in range(runs):
        start = time.process_time()
        decoder.decode(values)
        best = min(best, time.process_time() - start)
    return sum(map(len, batch)) / best / 1e6


def main() -> None:
    pa.set_cpu_count(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=int, nargs="?", default=20)
    parser.add_argument("--compiled", choices=["yes", "no"], default="no" if LIBRARY is None else "yes")
    parser.add_argument("--format", choices=["json", "avro", "protobuf", "csv"], default="json")
    options = parser.parse_args()
    library = LIBRARY if options.compiled == "yes" else None
    if options.format == "avro":
        avro(options.runs, library)
    elif options.format == "protobuf":
        protobuf(options.runs, library)
    elif options.format == "csv":
        csv_(options.runs)
    else:
        json_(options.runs, library)


def avro(runs: int, library: Any) -> None:
    decoder = AvroDecoder(DecoderSpec("avro", SCHEMA, "UTC", writers=OneSchema(SCHEMA)), library=library)
    _binary(decoder, encoded(messages(spaces=False), SCHEMA), runs)


def protobuf(runs: int, library: Any) -> None:
    writer = first(ID)
    plain = replace(schema(writer.text), message=writer.message)
    decoder = ProtobufDecoder(
        DecoderSpec("protobuf", SCHEMA, "UTC", writers=OneWriter(plain)), library=library
    )
    _binary(decoder, list(writer.messages(messages(spaces=False))), runs)


def _binary(decoder: Decoder, good: list[bytes], runs: int) -> None:
    size = sum(map(len, good)) / len(good)
    print(f"{size:.0f} bytes a message, none bad: {megabytes_per_second(decoder, good, runs):.0f} MB/s")  # noqa: T201
    for bad in (1, 100, RECORDS):
        batch = list(good)
        for i in range(bad):
            place = i * RECORDS // bad + RECORDS // bad // 2
            batch[place] = batch[place][:50]
        print(f"truncated, {bad} bad: {megabytes_per_second(decoder, batch, max(3, runs // 4)):.0f} MB/s")  # noqa: T201


def csv_(runs: int) -> None:
    decoder = CsvDecoder(DecoderSpec("csv", SCHEMA, "UTC", csv=CsvOptions()))
    quotings: tuple[Literal[0], Literal[2]] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC)
    for quoting in quotings:
        good = [_as_csv(message, quoting) for message in messages(spaces=False)]
        size = sum(map(len, good)) / len(good)
        label = "no quotes" if quoting == csv.QUOTE_MINIMAL else "texts in quotes"
        print(  # noqa: T201
            f"{size:.0f} bytes a message, {label}, none bad: {megabytes_per_second(decoder, good, runs):.0f} MB/s"
        )
        for bad in (1, 100, RECORDS):
            batch = list(good)
            for i in range(bad):
                place = i * RECORDS // bad + RECORDS // bad // 2
                batch[place] = batch[place][:50]
            print(f"truncated, {bad} bad: {megabytes_per_second(decoder, batch, max(3, runs // 4)):.0f} MB/s")  # noqa: T201


def _as_csv(message: bytes, quoting: Literal[0, 2]) -> bytes:
    out = io.StringIO()
    row = ["" if value is None else value for value in json.loads(message).values()]
    csv.writer(out, quoting=quoting).writerow(row)
    return out.getvalue().replace(',""', ",").encode()


def json_(runs: int, library: Any) -> None:
    decoder = JsonDecoder(DecoderSpec("json", SCHEMA, "UTC"), library=library)
    for spaces in (False, True):
        good = messages(spaces)
        label = "blanks after separators" if spaces else "compact"
        print(f"{label}, none bad: {megabytes_per_second(decoder, good, runs):.0f} MB/s")  # noqa: T201 a report
    good = messages(spaces=False)
    omitting = [json.dumps({k: v for k, v in json.loads(m).items() if v is not None}).encode() for m in good]
    print(f"nulls left out, none bad: {megabytes_per_second(decoder, omitting, runs):.0f} MB/s")  # noqa: T201
    for kind, damage in DAMAGE.items():
        for bad in (1, 100, RECORDS):
            batch = list(good)
            for i in range(bad):
                place = i * RECORDS // bad + RECORDS // bad // 2
                batch[place] = damage(batch[place])
            print(f"{kind}, {bad} bad: {megabytes_per_second(decoder, batch, max(3, runs // 4)):.0f} MB/s")  # noqa: T201


if __name__ == "__main__":
    main()

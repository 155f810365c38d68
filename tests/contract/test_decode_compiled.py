"""The compiled decoder beside the exact one: whatever it accepts, the exact decoder accepts with the same values."""

import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka2hive.config.native_library import INSTALLED, INTERFACE, LIBRARY, fits
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.compiled import NativeJsonReader
from kafka2hive.decode.contract.sources import exact_spelling, lower_case_spelling, same_name_sources
from kafka2hive.decode.json import JsonDecoder, JsonExactDecoder
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.decode_cases import CASES_OF_TYPE, MESSAGE_CASES, Dead
from tests.contract.decode_ways import WAYS
from tests.fuzz.mutate import SPECIAL, damaged
from tests.harness.compiled_library import needs_compiled

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns"]
OFFERED_AT = 13
OFFERED = """\
AvroDecoder (types, words, head, utc)
Batch
Batch.events ($self)
Batch.runs ($self)
Batch.tally ($self)
BatchDecoder
BatchDecoder.changed ($self)
BatchDecoder.instants ($self)
BatchDecoder.passed_keys ($self, met)
BatchDecoder.read ($self, values)
BatchDecoder.rows ($self, walls)
ClientError
Consumer
Consumer.assign ($self, assignments)
Consumer.assignment ($self)
Consumer.close ($self)
Consumer.consume ($self, count, bytes, seconds)
Consumer.heard ($self)
Consumer.incremental_unassign ($self, assignments)
Consumer.offsets_for_times ($self, times, seconds)
Consumer.position ($self, assignments)
Consumer.unassign ($self)
Decoder (types, tree, any_case, utc)
Librdkafka (path, flags)
Librdkafka.consumer ($self, properties)
Librdkafka.version
ProtobufDecoder (types, words, head, utc)
Records
Records.bytes ($self)
Records.compact ($self)
Records.count_below ($self, offset)
Records.headers ($self, positions=None)
Records.joined
Records.keys ($self, positions=None)
Records.last ($self)
Records.offsets ($self, positions=None)
Records.sizes ($self)
Records.slice ($self, start, end)
Records.timestamps ($self, positions=None)
Records.values ($self, positions=None)
Records.values_and_timestamps ($self)
Times (forms)
Times.read ($self, texts)
avro_rows (batch, start, enough)
crc32c (octets)
may_hold_schema (values)
split_arrays (values, most)
values_and_times (list, value, time, bytes)
"""
"""What the library offers, and the number of that interface: change both together, in Rust and in Python too."""


def seeds(dtype: str) -> list[bytes]:
    """A message for each value that a column of this type takes."""
    taken = [text for text, expected in CASES_OF_TYPE[dtype] if not isinstance(expected, Dead)]
    return [b'{"a":%s}' % text.encode() for text in ["null", *taken] if len(text) < 60]


def neighbours(message: bytes) -> Iterator[bytes]:
    """Messages one byte away from it, the byte one that JSON or a type's grammar knows."""
    for at in range(len(message) + 1):
        yield message[:at]
        yield message[:at] + message[at + 1 :]
        for byte in SPECIAL:
            yield message[:at] + bytes([byte]) + message[at:]
            yield message[:at] + bytes([byte]) + message[at + 1 :]


def accepted(schema: pa.Schema, zone: str, messages: list[bytes], any_case: bool = False) -> int:
    """How many the compiled decoder accepts; fails where the exact one does not agree."""
    spelling = lower_case_spelling if any_case else exact_spelling
    reader = NativeJsonReader(LIBRARY, schema, zone, same_name_sources(schema.names), spelling, any_case)
    rows, mask = reader.read(pa.array(messages, pa.binary()))
    rows.validate(full=True)
    assert rows.schema.equals(schema) and len(mask) == len(messages) and mask.sum() == len(rows)
    exact = JsonExactDecoder(schema, zone, spelling=spelling)
    certain = [message for message, is_row in zip(messages, mask.tolist(), strict=True) if is_row]
    judged = []
    for message in certain:
        verdict = exact.decode(message)
        assert isinstance(verdict, list), (message, verdict)
        judged.append(verdict)
    for number, field in enumerate(schema):
        expected = pa.array([verdict[number] for verdict in judged], field.type).to_pylist()
        for found, wanted, message in zip(rows.column(number).to_pylist(), expected, certain, strict=True):
            assert repr(found) == repr(wanted), message  # repr: -0.0 is not 0.0
    return len(certain)


def test_the_library_that_is_installed_is_the_one_that_is_expected() -> None:
    assert INSTALLED is None or fits(INSTALLED), "the compiled library is an older one: run scripts/setup"


@needs_compiled
@pytest.mark.parametrize("dtype", sorted(CASES_OF_TYPE))
def test_every_neighbour_of_a_value_is_in_doubt_or_comes_out_exactly(dtype: str) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    messages = sorted({near for seed in seeds(dtype) for near in (seed, *neighbours(seed))})
    assert accepted(schema, "Europe/Berlin", messages) >= len(seeds(dtype)) / 2


@needs_compiled
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("any_case", [False, True])
def test_random_edits_of_all_types_at_once_are_in_doubt_or_come_out_exactly(
    zone: str, any_case: bool
) -> None:
    dice = random.Random(f"{zone} {any_case}")
    kinds = sorted(CASES_OF_TYPE)
    schema = pa.schema([(f"c{i}", parse_hive_type(kind)) for i, kind in enumerate(kinds)])
    values = [[seed[5:-1] for seed in seeds(kind)] for kind in kinds]
    whole = []
    for _ in range(300):
        members = [b'"c%d":%s' % (i, dice.choice(texts)) for i, texts in enumerate(values)]
        kept = [member for member in members if dice.random() < 0.3]
        dice.shuffle(kept)
        whole.append(b"{%s}" % b",".join(kept))
    edited = [damaged(dice, message, whole) for message in whole for _ in range(8)]
    assert accepted(schema, zone, whole, any_case) > 200
    assert accepted(schema, zone, edited, any_case) > 50


@needs_compiled
def test_nothing_but_what_the_table_says_is_accepted_of_whole_messages() -> None:
    schema = pa.schema([("a", pa.int64())])
    good = [message for message, expected in MESSAGE_CASES if not isinstance(expected, Dead)]
    assert accepted(schema, "UTC", [message for message, _ in MESSAGE_CASES]) == len(good)


@needs_compiled
def test_a_map_of_very_many_keys_is_taken_and_a_repeated_one_is_in_doubt() -> None:
    schema = pa.schema([("a", pa.map_(pa.string(), pa.int32()))])
    for keys, rows in [(range(5000), 1), ([*range(5000), 7], 0), (range(17), 1), ([*range(17), 16], 0)]:
        message = b'{"a":{%s}}' % b",".join(b'"%d":1' % key for key in keys)
        assert accepted(schema, "UTC", [message]) == rows


@needs_compiled
def test_an_array_with_nulls_or_of_another_type_is_not_read() -> None:
    reader = NativeJsonReader(
        LIBRARY, pa.schema([("a", pa.int64())]), "UTC", same_name_sources(["a"]), exact_spelling, False
    )
    with pytest.raises(ValueError, match="null"):
        reader.read(pa.array([b"{}", None], pa.binary()))
    with pytest.raises(TypeError, match="binary"):
        reader.read(pa.array(["{}"]))


@needs_compiled
def test_batches_follow_each_other_whatever_the_one_before_held() -> None:
    schema = pa.schema([("a", pa.list_(pa.string())), ("t", pa.timestamp("us"))])
    reader = NativeJsonReader(
        LIBRARY, schema, "Europe/Berlin", same_name_sources(schema.names), exact_spelling, False
    )
    good = b'{"t":"2013-01-01T00:00:00Z","a":["x","y"]}'
    for batch in ([good] * 3, [good[:-1]] * 3, [], [good, b"{", good]):
        rows, mask = reader.read(pa.array(batch, pa.binary()))
        assert mask.tolist() == [message == good for message in batch]
        assert rows.column("a").to_pylist() == [["x", "y"]] * batch.count(good)
        assert {str(t) for t in rows.column("t").to_pylist()} <= {"2013-01-01 01:00:00"}


@needs_compiled
def test_keys_that_no_column_takes_are_told_once_however_rare_they_are() -> None:
    decoder = JsonDecoder(
        DecoderSpec("json", pa.schema([("a", pa.int64()), ("s", pa.struct([("t", pa.int64())]))]), "UTC")
    )
    messages = [
        b'{"a":%d,"s":{"inner":1}%s}' % (n, b',"rare":[{"deep":1}]' if n == 777 else b"")
        for n in range(2_000)
    ]
    assert decoder.decode(pa.array(messages, pa.binary())).new_keys == ("rare",)
    assert decoder.decode(pa.array([messages[777], b'{"other":1,"a":2}'], pa.binary())).new_keys == ("other",)


class Library:
    """One that reads its first message, an instant, and panics when it is asked for the row."""

    def __init__(self, interface: int = INTERFACE) -> None:
        self.INTERFACE = interface
        self.batches = 0
        self.walls = b""

    def Decoder(self, *_: Any) -> "Library":  # noqa: N802 - the library's name
        return self

    def read(self, values: pa.BinaryArray) -> bytes:
        self.batches += 1
        return bytes([1, *[0] * (len(values) - 1)])

    def instants(self) -> bytes:
        return np.array([1356998400_000000], dtype=np.int64).tobytes()

    def passed_keys(self, met: int) -> tuple[list[str], int]:
        return [], met

    def rows(self, walls: bytes) -> object:
        self.walls = walls
        raise RuntimeError("the compiled decoder panicked")


def test_after_a_panic_every_batch_goes_the_exact_way() -> None:
    library = Library()
    decoder = JsonDecoder(DecoderSpec("json", pa.schema([("a", pa.int64())]), "UTC"), library=library)
    for _ in range(2):
        decoded = decoder.decode(pa.array([b'{"a":1}', b'{"a":"x"}', b'{"a":2}'], pa.binary()))
        assert decoded.rows.to_pylist() == [{"a": 1}, {"a": 2}]
        assert decoded.rejected.to_pylist() == [1]
    assert library.batches == 1


def test_instants_become_wall_clocks_of_the_tables_zone() -> None:
    library = Library()
    schema = pa.schema([("t", pa.timestamp("us"))])
    JsonDecoder(DecoderSpec("json", schema, "Europe/Berlin"), library=library).decode(
        pa.array([b"{}"], pa.binary())
    )
    assert np.frombuffer(library.walls, dtype=np.int64).tolist() == [1357002000_000000]


def test_a_library_of_another_interface_is_not_used() -> None:
    assert fits(Library())
    assert not fits(Library(INTERFACE + 1))
    assert not fits(None)


def test_the_sources_of_both_sides_have_the_same_interface_number() -> None:
    source = (Path(__file__).parents[2] / "native" / "src" / "python.rs").read_text()
    assert f"const INTERFACE: u32 = {INTERFACE};" in source
    assert INTERFACE == OFFERED_AT


@needs_compiled
def test_what_the_library_offers_changes_with_its_interface_number_only() -> None:
    of_package = {name: getattr(LIBRARY, name) for name in dir(LIBRARY) if not name.startswith("_")}
    offered = {name: value for name, value in of_package.items() if not isinstance(value, ModuleType)}
    for kind in [value for value in offered.values() if isinstance(value, type)]:
        offered |= {f"{kind.__name__}.{name}": value for name, value in vars(kind).items()}
    names = [n for n, value in offered.items() if "__" not in n and not isinstance(value, int | str)]
    lines = [f"{name} {getattr(offered[name], '__text_signature__', None) or ''}".strip() for name in names]
    assert "".join(f"{line}\n" for line in sorted(lines)) == OFFERED


def test_rows_of_messages_in_doubt_stand_in_their_place() -> None:
    schema = pa.schema([("a", pa.decimal128(2, 1))])
    in_doubt = b'{"a":2.%s}' % (b"0" * 50)
    messages = [b'{"a":1}', in_doubt, b'{"a":"x"}', in_doubt, b'{"a":3}']
    for way, make in WAYS.items():
        decoded = make(schema, "UTC").decode(pa.array(messages, pa.binary()))
        assert [int(row["a"]) for row in decoded.rows.to_pylist()] == [1, 2, 2, 3], way
        assert decoded.accepted.to_pylist() == [0, 1, 3, 4], way

"""`time_pattern`, `time_of_day` and `epoch: decimal`: times as producers write them, in every way that reads texts."""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.json import of_records
from kafka2hive.decode.values.declared_times import DeclaredTimes
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.model.time_patterns import parse_pattern
from kafka2hive.model.wall_clock import NAIVE
from tests.contract.decode_cases import Dead
from tests.contract.decode_ways import EACH_WAY
from tests.contract.time_cases import CASES, CHANGES, DAY, DECIMAL, DIGITS, IDS, MAIL, MIXED, NOON, Case
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import first_values, row_outcomes


def message(text: str) -> bytes:
    return f'{{"a":{text}}}'.encode()


def made(way: str, dtype: pa.DataType, zone: str, unit: str | None, leeway: Leeway, changes: Changes) -> Any:
    spec = DecoderSpec(
        "json", pa.schema([("a", dtype)]), zone, [Source(("a",), unit, leeway)], changes=changes
    )
    return of_records(spec, None) if way == "exact" else of_records(spec)


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(
    ("number", "dtype", "zone", "unit", "leeway", "cases"), [(i, *c) for i, c in enumerate(CASES)], ids=IDS
)
def test_json_comes_out_as_the_table_says_and_is_counted(
    number: int, dtype: pa.DataType, zone: str, unit: str | None, leeway: Leeway, cases: list[Case], way: str
) -> None:
    changes = Changes()
    decoder = made(way, dtype, zone, unit, leeway, changes)
    expected = [value.code if isinstance(value, Dead) else value for _, value in cases]
    assert first_values(decoder, [message(text) for text, _ in cases]) == expected
    assert dict(changes.take()) == CHANGES[number]
    for text, value in cases:
        (alone,) = first_values(decoder, [message(text)])
        assert alone == (value.code if isinstance(value, Dead) else value), text


@needs_compiled
def test_the_library_reads_the_usual_forms_itself() -> None:
    texts = ["31/01/2024 12:30", "2024-01-31T12:30:15.5Z", "2024-01-31", "[2024,1,31,12,30]", None]
    _, doubtful = DeclaredTimes(NAIVE, "Europe/Berlin", None, MIXED, Changes()).read(pa.array(texts))
    assert doubtful.tolist() == [False] * 4 + [True]
    mails = ["Wed, 31 Jan 2024 12:30:15 GMT", "31 Jan 2024 12:30 +0100", "31 Jan 2024 12:30 Europe/Paris"]
    _, doubtful = DeclaredTimes(NAIVE, "UTC", None, Leeway(time_pattern=MAIL), Changes()).read(
        pa.array(mails)
    )
    assert doubtful.tolist() == [False] * 3
    _, doubtful = DeclaredTimes(NAIVE, "UTC", "s", DECIMAL, Changes()).read(pa.array(["1.7e9", "0.5", "x"]))
    assert doubtful.tolist() == [False, False, True]


PARTS: dict[str, Callable[[datetime], str]] = {
    "yyyy": lambda t: f"{t.year:04}",
    "yy": lambda t: f"{t.year % 100:02}",
    "MM": lambda t: f"{t.month:02}",
    "M": lambda t: str(t.month),
    "MMM": lambda t: t.strftime("%b"),
    "MMMM": lambda t: t.strftime("%B").upper(),
    "dd": lambda t: f"{t.day:02}",
    "d": lambda t: str(t.day),
    "EEE": lambda t: t.strftime("%a"),
    "EEEE": lambda t: t.strftime("%A"),
    "HH": lambda t: f"{t.hour:02}",
    "H": lambda t: str(t.hour),
    "hh a": lambda t: t.strftime("%I %p"),
    "mm": lambda t: f"{t.minute:02}",
    "m": lambda t: str(t.minute),
    "ss": lambda t: f"{t.second:02}",
    "SSS": lambda t: f"{t.microsecond // 1000:03}",
    "SSSSSS": lambda t: f"{t.microsecond:06}",
}
"""A writer of times: each part of a pattern with the text that it stands for."""


def drawn(dice: random.Random) -> tuple[str, str, datetime]:
    """Return a pattern, a time's text in it, and the time, cut to what the text says."""
    time = datetime(1950, 1, 1) + timedelta(microseconds=dice.randrange(100 * 365 * 86_400 * 10**6))
    names = [dice.choice(("yyyy", "yy")), dice.choice(("MM", "M", "MMM", "MMMM")), dice.choice(("dd", "d"))]
    names += [dice.choice(("EEE", "EEEE"))] * dice.randrange(2)
    dice.shuffle(names)
    names += [dice.choice(("HH", "H", "hh a")), dice.choice(("mm", "m"))]
    if dice.random() < 0.7:
        names += ["ss", *dice.choice(((), ("SSS",), ("SSSSSS",)))]
    marks = [dice.choice(("/", "-", ".", " ", ", ", "'T'", "''")) for _ in names[1:]]
    pattern = names[0] + "".join(mark + name for mark, name in zip(marks, names[1:], strict=True))
    texts = [mark.replace("''", "q").strip("'").replace("q", "'") for mark in marks]
    text = PARTS[names[0]](time) + "".join(
        mark + PARTS[name](time) for mark, name in zip(texts, names[1:], strict=True)
    )
    step = 10 ** (0 if "SSSSSS" in names else 3 if "SSS" in names else 6)
    second = time.second if "ss" in names else 0
    return (
        pattern,
        text,
        time.replace(
            second=second, microsecond=time.microsecond // step * step if second or "ss" in names else 0
        ),
    )


@pytest.mark.parametrize("seed", range(8))
def test_what_a_writer_of_the_pattern_writes_is_read_back_and_damaged_texts_are_the_same_both_ways(
    seed: int,
) -> None:
    dice = random.Random(seed)
    for _ in range(60):
        pattern, text, time = drawn(dice)
        zone, others = (
            dice.choice(("UTC", "Europe/Berlin")),
            tuple(dice.sample(("iso", "array"), dice.randrange(3))),
        )
        leeway = Leeway(dice.choice(("exact", "truncate")), time_pattern=(*others, pattern), pivot=1950)
        texts = [text]
        for _ in range(30):
            at = dice.randrange(len(text))
            texts += [text[:at] + dice.choice("0123456789 /-:.TaZ\u0661[,") + text[at + dice.randrange(2) :]]
        texts += [
            time.isoformat(),
            str([time.year, time.month, time.day, time.hour, time.minute]).replace(" ", ""),
        ]
        outcomes = []
        for library in (None, LIBRARY):
            changes = Changes()
            times = DeclaredTimes(NAIVE, zone, None, leeway, changes, library)
            column, doubtful = times.read(pa.array(texts))
            outcomes.append(
                (
                    [_taken(times, t, v, bool(d)) for t, v, d in zip(texts, column, doubtful, strict=True)],
                    changes.take(),
                )
            )
        assert outcomes[0] == outcomes[1], pattern
        assert outcomes[0][0][0] == time, (pattern, text)


ZONED = Leeway(
    time_pattern=("yyyy-MM-dd HH:mm:ss[.SSSSSSSSS] VV", "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS]XXX'['VV']'"),
    fraction="truncate",
)
NAMES = (
    "Europe/Berlin",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "EST5EDT",
)
CHANGING = (
    datetime(2024, 3, 31),
    datetime(2024, 10, 27),
    datetime(2024, 3, 10),
    datetime(2011, 4, 3),
    datetime(1906, 1, 1),
)
"""Days on which clocks are set in one of the zones."""


@pytest.mark.parametrize("seed", range(4))
def test_times_in_zones_with_a_name_are_the_same_both_ways(seed: int) -> None:
    dice, texts = random.Random(seed), []
    for _ in range(400):
        time = dice.choice((*CHANGING, datetime(2036, 12, 30), datetime(2040, 7, 1), datetime(1, 1, 2)))
        time += timedelta(minutes=dice.randrange(-1_440, 2_880))
        name = dice.choice((*NAMES, "UTC", "Z", "GMT", "Europe/Nowhere", "a"))
        fraction = dice.choice(("", ".123456000", ".123456789"))
        if dice.random() < 0.5:
            texts.append(f"{time.isoformat(' ')}{fraction} {name}")
        else:
            hours = dice.choice(("+00:00", "Z", "+01:00", "+02:00", "-05:00", "-02:30", "+10:30", "+11:00"))
            texts.append(f"{time.isoformat()}{fraction}{hours}[{name}]")
    zone, outcomes, certain = dice.choice((*NAMES, "UTC")), [], 0
    for library in (None, LIBRARY):
        changes = Changes()
        times = DeclaredTimes(NAIVE, zone, None, ZONED, changes, library)
        column, doubtful = times.read(pa.array([*texts, None]))
        certain = int((~doubtful).sum())
        taken = [
            _taken(times, t, v, bool(d)) for t, v, d in zip(texts, column[:-1], doubtful[:-1], strict=True)
        ]
        outcomes.append((taken, changes.take()))
    assert outcomes[0] == outcomes[1]
    assert LIBRARY is None or certain > 100


@needs_compiled
def test_the_library_reads_no_time_of_a_zone_that_is_not_certain() -> None:
    texts = [
        "2024-03-31 01:59:59 Europe/Berlin",
        "2024-03-31 02:30:00 Europe/Berlin",
        "2024-10-27 02:30:00 Europe/Berlin",
        "2024-10-27T02:30:00+01:00[Europe/Berlin]",
        "2024-10-27T02:30:00+03:00[Europe/Berlin]",
        "2024-07-01 12:00:00 Europe/Nowhere",
        "2040-07-01 12:00:00 Europe/Berlin",
        "2024-07-01 12:00:00 Asia/Tokyo",
    ]
    column, doubtful = DeclaredTimes(NAIVE, "UTC", None, ZONED, Changes()).read(pa.array(texts))
    assert doubtful.tolist() == [False, True, True, False, True, True, True, False]
    assert column.drop_null().to_pylist() == [
        datetime(2024, 3, 31, 0, 59, 59),
        datetime(2024, 10, 27, 1, 30),
        datetime(2024, 7, 1, 3),
    ]


def _taken(times: DeclaredTimes, text: str, value: pa.Scalar, is_doubtful: bool) -> Any:
    if not is_doubtful:
        return value.as_py()
    try:
        return pa.scalar(times.take(text, "a"), NAIVE).as_py()
    except ValueRefusal as refusal:
        return refusal.code


@pytest.mark.parametrize("pattern", ["dd/MM/yyyy HH:mm", "EEE d MMM yyyy hh:mm a", "yyyyMMddHHmmssX"])
def test_every_prefix_and_doubled_part_of_a_text_is_dead(pattern: str) -> None:
    assert parse_pattern(pattern)
    good = {"d": "31/01/2024 12:30", "E": "Wed 31 Jan 2024 12:30 PM", "y": "20240131123000+01"}[pattern[0]]
    times = DeclaredTimes(NAIVE, "UTC", None, Leeway(time_pattern=(pattern,)), Changes(), None)
    assert times.take(good, "a")
    for text in [*(good[:end] for end in range(len(good))), good + good, good + "0", " " + good]:
        with pytest.raises(ValueRefusal, match=r"json\.timestamp"):
            times.take(text, "a")


def test_csv_has_the_same_times() -> None:
    schema = pa.schema([("a", NAIVE), ("b", DAY), ("c", NAIVE)])
    sources = [
        Source(("a",), None, MIXED),
        Source(("b",), None, Leeway(time_of_day="drop")),
        Source(("c",), "s", DECIMAL),
    ]
    changes = Changes()
    decoder = make_decoder(DecoderSpec("csv", schema, "UTC", sources, changes=changes))
    rows = [
        b"31/01/2024 12:30,2024-01-31T23:00:00,1700000000.5",
        b"2024-01-31,2024-01-31,0",
        b",,",
        b"31/02/2024 12:30,,",
        b",31/01/2024,",
        b",,x",
    ]
    assert first_values(decoder, rows) == [
        NOON,
        datetime(2024, 1, 31),
        None,
        "csv.timestamp",
        "csv.date",
        "csv.type",
    ]
    assert changes.take() == (("time_of_day", 2),)


@pytest.mark.parametrize("way", EACH_WAY)
def test_what_the_record_s_schema_says_counts_more(way: str) -> None:
    leeway = Leeway(time_pattern=("yyyyMMddHHmmss",))
    schema, source = pa.schema([("a", NAIVE)]), Source(("payload", "a"), None, leeway)
    spec = DecoderSpec("json", schema, "UTC", [source])
    decoder = of_records(spec, None) if way == "exact" else of_records(spec)
    head = (
        b'{"schema":{"type":"struct","fields":[{"field":"a","type":"int64","name":"%s"}]},"payload":{"a":%s}}'
    )
    found = first_values(
        decoder,
        [
            head % (b"org.apache.kafka.connect.data.Timestamp", b"1706704215000"),
            head % (b"io.debezium.time.MicroTime", b"20240131123015"),
            b'{"payload":{"a":20240131123015}}',
        ],
    )
    assert found == [datetime(2024, 1, 31, 12, 30, 15), "json.semantic", datetime(2024, 1, 31, 12, 30, 15)]


def test_a_reason_names_the_key_that_would_take_the_value() -> None:
    def reason(dtype: pa.DataType, leeway: Leeway, text: str) -> str:
        decoder = made("exact", dtype, "UTC", None, leeway, Changes())
        (why,) = decoder.decode(pa.array([message(text)])).reasons
        return str(why)

    assert "time_of_day: midnight takes a day" in reason(NAIVE, Leeway(time_pattern=("iso",)), '"2024-01-31"')
    assert "time_of_day: drop takes the day" in reason(
        DAY, Leeway(time_pattern=("iso",)), '"2024-01-31T12:30"'
    )
    assert "no such day: 31/02/2024 12:30" in reason(NAIVE, MIXED, '"31/02/2024 12:30"')
    assert "the text does not match dd/MM/yyyy HH:mm or iso or array" in reason(NAIVE, MIXED, '"x"')


def messages_of(dice: random.Random, count: int) -> list[bytes]:
    """Return messages with times in many forms, most of them damaged somewhere."""
    found = []
    for _ in range(count):
        time = datetime(1960, 1, 1) + timedelta(microseconds=dice.randrange(100 * 365 * 86_400 * 10**6))
        seconds = (time - datetime(1970, 1, 1)).total_seconds()
        parts = str([*time.timetuple()[: dice.choice((3, 5, 6))]]).replace(" ", dice.choice(("", " ")))
        text = dice.choice((f"{time:%d/%m/%Y %H:%M}", time.isoformat(), f"{time:%Y-%m-%d}"))
        number = dice.choice((f"{seconds:.6f}", f"{seconds:.0f}", f"{seconds:E}", str(seconds)))
        quoted = dice.choice((number, f'"{number}"', '""'))
        digits = dice.choice((f"{time:%Y%m%d}", f'"{time:%Y%m%d%H%M%SZ}"'))
        message = f'{{"m":{dice.choice((parts, json.dumps(text)))},"e":{quoted},"d":{digits},"n":{dice.randrange(99)}}}'
        for _ in range(dice.choice((0, 0, 1, 1, 2))):
            at = dice.randrange(len(message))
            message = (
                message[:at] + dice.choice('0123456789 /-:.TZ[],"{}\\etn') + message[at + dice.randrange(3) :]
            )
        found.append(message.encode())
    return found


@needs_compiled
@pytest.mark.parametrize("seed", range(6))
def test_both_decoders_of_json_agree_on_damaged_messages(seed: int) -> None:
    schema = pa.schema([("m", NAIVE), ("e", NAIVE), ("d", DAY), ("n", pa.int64())])
    loose = Leeway(("exact", "truncate")[seed % 2], quoted="accept", empty="null", epoch="decimal")
    sources = [
        Source(("m",), None, MIXED),
        Source(("e",), "s", loose),
        Source(("d",), None, DIGITS),
        Source(("n",)),
    ]
    messages = messages_of(random.Random(seed), 1_500)
    outcomes = []
    for library in (None, LIBRARY):
        changes = Changes()
        spec = DecoderSpec("json", schema, ("UTC", "Europe/Berlin")[seed % 2], sources, changes=changes)
        found = [str(one) for one in row_outcomes(of_records(spec, library), messages)]
        outcomes.append((found, changes.take()))
    for message, one, other in zip(messages, outcomes[0][0], outcomes[1][0], strict=True):
        assert one == other, message
    assert sum(one.startswith("[") for one in outcomes[0][0]) > 300 and outcomes[0][1] == outcomes[1][1]

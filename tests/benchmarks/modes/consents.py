"""What the keys of columns that take other forms cost the decoder: paired ratios of CPU, measured in turns in one run."""

import json
import statistics
import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.leeway import STRICT, Leeway, NumberMarks
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.plugins import Decoder
from tests.benchmarks.aims import Rows
from tests.benchmarks.decode_speed import SCHEMA, messages
from tests.benchmarks.room import Room

_PAIRS = 41
FIVE = {
    "month": Leeway(whole="accept"),
    "day": Leeway(quoted="accept"),
    "distance": Leeway(numbers=NumberMarks(".", ",")),
    "dep_delay": Leeway(empty="null"),
    "time_hour": Leeway(beyond="clamp"),
}
"""One column for each of five keys."""
PROPS = {"device": {"os": "linux", "version": 14}, "tags": ["a", "b"], "score": 0.25}


def flights_decoder(leeways: Mapping[str, Leeway], more: tuple[pa.Field, ...] = ()) -> Decoder:
    """Return the decoder of flights whose columns have these keys."""
    schema = pa.schema([*SCHEMA, *more])
    sources = [Source((name,), None, leeways.get(name, STRICT)) for name in schema.names]
    return make_decoder(DecoderSpec("json", schema, "UTC", sources))


def in_other_forms(message: bytes) -> bytes:
    """Return a flight whose values need the keys of FIVE, each in its column."""
    flight = json.loads(message)
    flight["month"] = float(flight["month"])
    flight["day"] = str(flight["day"])
    flight["distance"] = f"{flight['distance']:,}".replace(",", ".")
    flight["dep_delay"] = "" if flight["dep_delay"] is None else flight["dep_delay"]
    flight["time_hour"] = "infinity" if flight["day"] == "1" else flight["time_hour"]
    return json.dumps(flight, separators=(",", ":")).encode()


def with_props(message: bytes, is_text: bool) -> bytes:
    """Return a flight with an object of more properties, or with the same characters as a string."""
    props = json.dumps(PROPS)
    return message[:-1] + b',"props":' + (json.dumps(props) if is_text else props).encode() + b"}"


def ratios(first: tuple[Decoder, pa.Array], second: tuple[Decoder, pa.Array], pairs: int) -> list[float]:
    """Return the CPU of the second decoder by that of the first, for each of some pairs of batches in turns."""
    found = []
    for number in range(pairs):
        seconds = [0.0, 0.0]
        for which in (0, 1) if number % 2 else (1, 0):
            decoder, values = (first, second)[which]
            began = time.process_time()
            decoded = decoder.decode(values)
            seconds[which] = time.process_time() - began
            assert not len(decoded.rejected), decoded.reasons[0]
        found.append(seconds[1] / seconds[0])
    return found


def measure(_room: Room) -> dict[str, Any]:
    """The median ratio of each comparison, and the middle half of its ratios."""
    rows, all_ratios = Rows("consents"), {}
    plain = messages(spaces=False)
    text, other = (pa.field("props", pa.string()),), {"props": Leeway(json="text")}
    none = flights_decoder({}), pa.array(plain, pa.binary())
    as_string = flights_decoder({}, text), pa.array([with_props(m, True) for m in plain], pa.binary())
    as_object = pa.array([with_props(m, False) for m in plain], pa.binary())
    forms = pa.array([in_other_forms(m) for m in plain], pa.binary())
    compared = {
        "no key against no key": (none, (flights_decoder({}), none[1])),
        "five keys that no value needs, against no key": (none, (flights_decoder(FIVE), none[1])),
        "five keys, values in these forms, against no key": (none, (flights_decoder(FIVE), forms)),
        "json: text of an object against a string": (as_string, (flights_decoder(other, text), as_object)),
    }
    for what, (first, second) in compared.items():
        found = ratios(first, second, _PAIRS)
        low, middle, high = statistics.quantiles(found, n=4)
        all_ratios[what] = found
        rows.add(what, f"{middle:.2f} ({low:.2f} to {high:.2f})")
    return {"rows": rows.made, "ratios": all_ratios}

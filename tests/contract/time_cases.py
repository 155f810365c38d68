"""Times in declared forms as data: every way that reads texts in JSON must pass every case of docs/decoding.md.

A table is (column type, zone, unit, leeway, cases), and a case is (JSON text of the value, what the column holds).
"""

from datetime import date, datetime
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.model.wall_clock import NAIVE
from tests.contract.decode_cases import DATE, INEXACT, RANGE, TIME, TYPE

DAY = pa.date32()
MIXED = Leeway(time_pattern=("dd/MM/yyyy HH:mm", "iso", "array"), time_of_day="midnight")
DIGITS = Leeway(time_pattern=("yyyyMMdd", "yyyyMMddHHmmssX"), time_of_day="drop")
MAIL = ("[EEE, ]d MMM yyyy HH:mm[:ss] VV", "[EEE, ]d MMM yyyy HH:mm[:ss] Z")
CLOCK = Leeway(time_pattern=("dd.MM.yy hh:mm a",), pivot=1970)
FINE = Leeway("truncate", time_pattern=("yyyy-MM-dd HH:mm:ss.SSSSSSSSS", "array"))
DECIMAL, LOOSE = Leeway(epoch="decimal"), Leeway("truncate", quoted="accept", empty="null", epoch="decimal")
NOON = datetime(2024, 1, 31, 12, 30)

Case = tuple[str, Any]
CASES: list[tuple[pa.DataType, str, str | None, Leeway, list[Case]]] = [
    (
        NAIVE,
        "UTC",
        None,
        MIXED,
        [
            ('"31/01/2024 12:30"', NOON),
            ('"31/1/2024 12:30"', TIME),
            ('"31/02/2024 12:30"', TIME),
            ('"31/01/2024 24:00"', TIME),
            ('"31/01/2024 12:30 "', TIME),
            ('"31/01/0000 12:30"', TIME),
            ('"2024-01-31T13:30:00.5+01:00"', datetime(2024, 1, 31, 12, 30, 0, 500000)),
            ('"2024-01-31T12:30"', NOON),
            ('"2024-01-31"', datetime(2024, 1, 31)),
            ('"2024-02-30"', TIME),
            ('"2024-01-31T12:30:15.1234560"', datetime(2024, 1, 31, 12, 30, 15, 123456)),
            ('"2024-01-31T12:30:15.1234561"', INEXACT),
            ('"0001-01-01T00:00:00+01:00"', RANGE),
            ("[2024,1,31,12,30,15,123000000]", datetime(2024, 1, 31, 12, 30, 15, 123000)),
            ("[2024,1,31,12,30,15,123]", INEXACT),
            ("[2024,1,31,12,30]", NOON),
            ("[ 2024 ,\t1, 31\n]", datetime(2024, 1, 31)),
            ("[2024,1,31,12]", TIME),
            ("[2024,2,31]", TIME),
            ("[2024,1]", TIME),
            ("[]", TIME),
            ("[2024,1,-1]", TIME),
            ('[2024,1,"3"]', TYPE),
            ("[2024,1,3.0]", TYPE),
            ("[[2024,1,3]]", TYPE),
            ("[2024,null,3]", TYPE),
            ("20240131", TIME),
            ("1.5", TYPE),
            ("true", TYPE),
            ("{}", TYPE),
            ('""', TIME),
            ("null", None),
        ],
    ),
    (
        DAY,
        "Europe/Berlin",
        None,
        DIGITS,
        [
            ("20240131", date(2024, 1, 31)),
            ('"20240131"', date(2024, 1, 31)),
            ('"20240131233000Z"', date(2024, 2, 1)),
            ('"20240131233000+0130"', date(2024, 1, 31)),
            ("20240231", DATE),
            ("2024013", DATE),
            ("-20240131", DATE),
            ('"2024013123300Z"', DATE),
            ("[2024,1,31]", TYPE),
        ],
    ),
    (
        NAIVE,
        "Europe/Berlin",
        None,
        Leeway(time_pattern=MAIL),
        [
            ('"Wed, 31 Jan 2024 12:30:15 GMT"', datetime(2024, 1, 31, 13, 30, 15)),
            ('"Thu, 31 Jan 2024 12:30:15 GMT"', TIME),
            ('"31 jAN 2024 12:30 -0500"', datetime(2024, 1, 31, 18, 30)),
            ('"31 Jan 2024 12:30 Z"', datetime(2024, 1, 31, 13, 30)),
            ('"31 Jan 2024 12:30 Europe/Berlin"', NOON),
            ('"31 Mar 2024 02:30 Europe/Berlin"', datetime(2024, 3, 31, 2, 30)),
            ('"31 Mar 2024 02:30 Europe/Paris"', TIME),
            ('"27 Oct 2024 02:30 Europe/Paris"', TIME),
            ('"27 Oct 2024 02:30 +0100"', datetime(2024, 10, 27, 2, 30)),
            ('"31 Jan 2024 12:30 Mars/Crater"', TIME),
            ('"31 Jan 2024 12:30 ../etc"', TIME),
            ('"31 \u017fep 2024 12:30 GMT"', TIME),
            ('"31 Jan 2024 12:30 +2400"', TIME),
        ],
    ),
    (
        NAIVE,
        "Europe/Berlin",
        None,
        Leeway(time_pattern=("yyyy-MM-dd'T'HH:mm[:ss]XXX'['VV']'",)),
        [
            ('"2024-10-27T02:30+02:00[Europe/Paris]"', datetime(2024, 10, 27, 2, 30)),
            ('"2024-01-31T12:30:15+01:00[Europe/Paris]"', datetime(2024, 1, 31, 12, 30, 15)),
            ('"2024-01-31T12:30+02:00[Europe/Paris]"', TIME),
            ('"2024-01-31T12:30Z[UTC]"', datetime(2024, 1, 31, 13, 30)),
        ],
    ),
    (
        NAIVE,
        "UTC",
        None,
        CLOCK,
        [
            ('"31.01.70 12:00 AM"', datetime(1970, 1, 31)),
            ('"31.01.69 12:00 pm"', datetime(2069, 1, 31, 12)),
            ('"31.01.70 11:59 Pm"', datetime(1970, 1, 31, 23, 59)),
            ('"31.01.70 00:00 AM"', TIME),
            ('"31.01.70 13:00 PM"', TIME),
            ('"31.01.70 12:00"', TIME),
        ],
    ),
    (
        NAIVE,
        "UTC",
        None,
        FINE,
        [
            ('"2024-01-31 12:30:00.000001000"', datetime(2024, 1, 31, 12, 30, 0, 1)),
            ('"2024-01-31 12:30:00.000001999"', datetime(2024, 1, 31, 12, 30, 0, 1)),
            ('"1969-12-31 23:59:59.999999999"', datetime(1969, 12, 31, 23, 59, 59, 999999)),
            ("[2024,1,31,12,30,0,1999]", datetime(2024, 1, 31, 12, 30, 0, 1)),
            ("[2024,1,31]", TIME),
        ],
    ),
    (
        NAIVE,
        "Europe/Berlin",
        "s",
        DECIMAL,
        [
            ("1700000000.123", datetime(2023, 11, 14, 23, 13, 20, 123000)),
            ("1.700000000123E9", datetime(2023, 11, 14, 23, 13, 20, 123000)),
            ("1700000000", datetime(2023, 11, 14, 23, 13, 20)),
            ("-0.5", datetime(1970, 1, 1, 0, 59, 59, 500000)),
            ("-0.0", datetime(1970, 1, 1, 1)),
            ("1700000000.1234567", INEXACT),
            ("1700000000.123456" + "0" * 5000, datetime(2023, 11, 14, 23, 13, 20, 123456)),
            ("0." + "0" * 5000 + "1", INEXACT),
            ("1e-400", INEXACT),
            ("1e400", RANGE),
            ("-1e400", RANGE),
            ("0e400", datetime(1970, 1, 1, 1)),
            ("1" + "0" * 5000, RANGE),
            ("253402300799.5", RANGE),
            ('"1700000000.5"', TYPE),
            ('""', TYPE),
            ("[1]", TYPE),
            ("true", TYPE),
        ],
    ),
    (
        NAIVE,
        "UTC",
        "ms",
        LOOSE,
        [
            ('"1700000000123.5"', datetime(2023, 11, 14, 22, 13, 20, 123500)),
            ("1700000000123.4567", datetime(2023, 11, 14, 22, 13, 20, 123456)),
            ("-0.0001", datetime(1969, 12, 31, 23, 59, 59, 999999)),
            ('"1e400"', RANGE),
            ('"01"', TYPE),
            ('"NaN"', TYPE),
            ('""', None),
        ],
    ),
    (DAY, "UTC", "ns", DECIMAL, [("0.5", date(1970, 1, 1)), ("-0.5", date(1969, 12, 31)), ("1e30", RANGE)]),
]
IDS = [" ".join(map(str, (dtype, unit or "", *leeway.time_pattern))) for dtype, _, unit, leeway, _ in CASES]
CHANGES = [
    {"time_of_day": 2},
    {"time_of_day": 2},
    {},
    {},
    {},
    {"fraction": 3},
    {},
    {"fraction": 2, "quoted": 2, "empty": 1},
    {},
]

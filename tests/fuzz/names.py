"""The layout's parsers against names nobody of us made: None, or exactly what builds the name again. Never an error."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from kafka2hive.ledger.look import newest_snapshot
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.ledger import (
    Generation,
    draft_name,
    heartbeat_name,
    is_draft_name,
    parse_heartbeat_name,
    parse_snapshot_name,
    snapshot_name,
)
from kafka2hive.model.paths.path import parse_partition_path, partition_path, unescape_partition_value
from kafka2hive.model.paths.table_directory import DataFileName, bucket_slug
from kafka2hive.storage.port import FileStatus
from tests.fuzz.finding import Finding

NAMES = 400
"""Names of one example."""
_LETTERS = "0129afgeG.-_=%/ \tä\u0660\uff11\u2028\x00\x7f\U0001f600"


def fuzz_names(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    names = [_changed(dice, _valid(dice)) for _ in range(NAMES)]
    for name in names:
        count["names"] += 1
        for kind, parse, build in _PARSERS:
            parsed = parse(name)
            if parsed is not None:
                count[f"names that are a {kind}"] += 1
                if build(parsed) != name:
                    raise Finding(f"{name!r} is taken for a {kind} named {build(parsed)!r}")
        if is_draft_name(name) and draft_name(int(name[1 : name.index(".")]), name.split(".")[1]) != name:
            raise Finding(f"{name!r} is taken for a draft")
        _check_paths(name)
    _check_listing(dice, names)


_PARSERS: tuple[tuple[str, Callable[[str], Any], Callable[[Any], str]], ...] = (
    ("generation", Generation.parse, lambda g: str(g.name)),
    ("snapshot", parse_snapshot_name, lambda found: snapshot_name(*found)),
    ("data file", DataFileName.parse, lambda found: str(found[0].in_state(found[1]))),
    ("beat", parse_heartbeat_name, lambda found: heartbeat_name(*found)),
)


def _valid(dice: random.Random) -> str:
    uuid = f"{dice.getrandbits(128):032x}"
    number = dice.choice((0, 1, 41, 999_999, 1_000_000, 10**17, 10**40))
    owner = f"{dice.choice(('host', 'a.b-c', '-1-'))}-{dice.randrange(10**5)}-{uuid}"
    data = DataFileName(
        slug=dice.choice(("all", "dt=1", "a_task_1-b")),
        task=number,
        ledger=uuid[:8],
        generation=number,
        epoch=number,
        uuid=uuid,
        extension=dice.choice(("parquet", "snappy.orc", "json.gz", "text.zst", "avro")),
    )
    return dice.choice(
        (
            Generation(number).name,
            Generation(number, "20261121T074844Z", owner).name,
            snapshot_name(number, dice.choice(("final", "pending"))),
            draft_name(number, uuid),
            data.in_state(dice.choice(("final", "pending", "in-progress"))),
            heartbeat_name(owner, number),
            "dt=2013-01-01/hr=05",
            "9" * 5000,
        )
    )


def _changed(dice: random.Random, name: str) -> str:
    for _ in range(dice.choice((0, 1, 1, 2, 5))):
        at = dice.randrange(len(name) + 1)
        match dice.randrange(4):
            case 0:
                name = name[:at] + dice.choice(_LETTERS) + name[at:]
            case 1:
                name = name[:at] + name[at + dice.randint(1, 3) :]
            case 2:
                name = name[:at] + dice.choice(_LETTERS) + name[at + 1 :]
            case _:
                name = name[:at] + name[max(0, at - 4) : at] * dice.choice((1, 2, 1200)) + name[at:]
    return name


def _check_paths(name: str) -> None:
    unescape_partition_value(name)
    parse_partition_path(name)
    slug = bucket_slug(name)
    if not 0 < len(slug) <= 60 or slug[0] in "._":
        raise Finding(f"{name!r} has the slug {slug!r}")
    pairs = (("dt", name), ("hr", name[::-1]))
    if parse_partition_path(partition_path(pairs)) != pairs:
        raise Finding(f"{pairs!r} comes back as {parse_partition_path(partition_path(pairs))!r}")


def _check_listing(dice: random.Random, names: list[str]) -> None:
    """R3 over a directory of strange names: a state, or STOP."""
    listing = tuple(
        FileStatus(f"file:///ledger/g000001.x/{name}", dice.randrange(100), dice.random() < 0.1)
        for name in dice.sample(names, 20)
        if "/" not in name
    )
    try:
        newest_snapshot("file:///ledger/g000001.x", listing)
    except ManualActionRequired:
        return

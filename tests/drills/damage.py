"""One damage to a dump, and the damages to its files: visible ones, and staged ones of an epoch that is pending."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.drills.picture import Changes, Picture

Bytes = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True, slots=True)
class Damage:
    """`changes` to the picture; a report must hold all of one of `names` (alternatives, each a tuple of texts).

    `remade`: paths that a start makes again by its rules, so that they may be there after it.
    """

    kind: str
    what: str
    changes: Changes
    names: tuple[tuple[str, ...], ...]
    remade: frozenset[str] = frozenset()


def flipped(begin: float, end: float) -> Bytes:
    """One bit of the part from `begin` to `end` (shares of the length)."""

    def flip(data: bytes, chance: random.Random) -> bytes:
        at = chance.randrange(int(len(data) * begin), max(int(len(data) * end), int(len(data) * begin) + 1))
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]

    return flip


IN_PLACE: dict[str, Bytes] = {
    "truncated to nothing": lambda data, _: b"",
    "last byte cut off": lambda data, _: data[:-1],
    "truncated anywhere": lambda data, chance: data[: chance.randrange(1, len(data))],
    "extended": lambda data, chance: data + chance.randbytes(chance.randrange(1, 200)),
    "bit flipped in the header": flipped(0, 0.01),
    "bit flipped in the middle": flipped(0.1, 0.8),
    "bit flipped in the footer": flipped(0.9, 1),
    "zeros of the same length": lambda data, _: bytes(len(data)),
}


def file_damages(
    picture: Picture, paths: list[str], visible: bool, count: int, chance: random.Random
) -> Iterator[Damage]:
    """Each kind `count` times, each time to one of `paths`, chosen at random; staged files when not `visible`."""
    what = "visible file" if visible else "staged file"
    for kind, change in IN_PLACE.items():
        for path in chance.choices(paths, k=count):
            yield named(picture, f"{what}: {kind}", {path: change(picture.files[path], chance)}, path)
    for path in chance.choices(paths, k=count):
        yield named(picture, f"{what}: deleted", {path: None}, path)
    for path in chance.choices(paths, k=count):
        other = chance.choice([p for p in paths if p != path])
        fitted = {a: fit(picture.files[b], len(picture.files[a])) for a, b in ((path, other), (other, path))}
        yield named(picture, f"{what}: swapped, lengths kept", fitted, path)
    for kind, rename in (RENAMES_OF_VISIBLE if visible else RENAMES).items():
        for path in chance.choices(paths, k=count):
            changes = {path: None, rename(path, paths, chance): picture.files[path]}
            yield named(picture, f"{what}: renamed {kind}", changes, path)


def copies(picture: Picture, paths: list[str], count: int, chance: random.Random) -> Iterator[Damage]:
    """A visible file stands there once more, under a name that the program could have given."""
    for kind, rename in COPIES.items():
        for path in chance.choices(paths, k=count):
            copy = rename(path, paths, chance)
            yield named(picture, f"visible file: copied {kind}", {copy: picture.files[path]}, copy)


def named(picture: Picture, kind: str, changes: Changes, path: str) -> Damage:
    """A damage that is reported by the path of one file; that of a staged one by the name it keeps when it moves."""
    told = _name(path).removesuffix("pending") if "/_tmp/" in path else f"{picture.base}/{path}"
    return Damage(kind, f"{kind}: {path}", changes, ((told,),))


def fit(data: bytes, length: int) -> bytes:
    """Cut, or filled up with zeros."""
    return data[:length].ljust(length, b"\0")


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _other_bucket(path: str, paths: list[str], chance: random.Random) -> str:
    """One of the same table; where it has no other, a new one."""
    home = _directory(_directory(path))
    others = sorted({d for d in map(_directory, paths) if d != _directory(path) and _directory(d) == home})
    return f"{chance.choice(others)}/{_name(path)}" if others else _new_bucket(path, paths, chance)


def _new_bucket(path: str, _: list[str], chance: random.Random) -> str:
    directory = re.sub(r"dt=[^/]*$", f"dt=1999-01-{chance.randrange(10, 28)}", _directory(path))
    return f"{directory}/{_name(path)}"


def _other_uuid(path: str, _: list[str], chance: random.Random) -> str:
    return re.sub(r"[0-9a-f]{32}(?=\.)", f"{chance.getrandbits(128):032x}", path)


def _other_task(path: str, _: list[str], chance: random.Random) -> str:
    return re.sub(r"_task_\d+", f"_task_{chance.randrange(100, 999)}", path)


def _later_epoch(path: str, _: list[str], chance: random.Random) -> str:
    return re.sub(r"-e\d{6}-", f"-e{chance.randrange(500, 900):06d}-", path)


def _earlier_epoch(path: str, _: list[str], chance: random.Random) -> str:
    return re.sub(r"-e\d{6}-", "-e000000-", path)


Rename = Callable[[str, list[str], random.Random], str]
RENAMES: dict[str, Rename] = {
    "to another extension": lambda path, _, chance: re.sub(
        r"\.parquet\.\w+$", chance.choice([".parquet.in-progress", ".orc.final", ".parquet"]), path
    ),
    "to a name of nobody's": lambda path, _, chance: f"{_directory(path)}/part-{chance.randrange(99999):05d}",
    "to another uuid": _other_uuid,
}
OUT_OF_PLACE: dict[str, Rename] = {"into another bucket": _other_bucket, "into a new bucket": _new_bucket}
RENAMES_OF_VISIBLE: dict[str, Rename] = RENAMES | OUT_OF_PLACE
COPIES: dict[str, Rename] = {
    "under another uuid": _other_uuid,
    "as another task's": _other_task,
    "as a later epoch's": _later_epoch,
    "as the first epoch's": _earlier_epoch,
    **OUT_OF_PLACE,
}

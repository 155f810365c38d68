"""Damages to a ledger: snapshots, the generation directory, the owner marker.

The injector can sign what it edited: then only what the ledger says elsewhere can give the edit away.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.drills.damage import Damage
from tests.drills.picture import Picture, signed, unsigned

BELIEVED = ("written_at", "newest_ms", "bytes", "leader_epoch")
"""What stands once and for people: an edit of it in the newest snapshot that is signed cannot be told (docs/guarantees.md)."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """One table's ledger in a picture; paths below the base."""

    picture: Picture
    table: str
    location: str

    @property
    def home(self) -> str:
        return f"kafka2hive/kafka_partition_offsets/{self.table}"

    @property
    def generation(self) -> str:
        """Name of the generation directory."""
        (name,) = {p.split("/")[3] for p in self.picture.files if p.startswith(f"{self.home}/")}
        return name

    def snapshots(self) -> list[str]:
        """All, in the order of their epochs, archived ones first."""
        beginnings = (f"{self.home}/", f"kafka2hive/archive/{self.table}/")
        return sorted((p for p in self.picture.files if p.startswith(beginnings)), key=epoch_of)

    def damage(self, kind: str, changes: dict[str, bytes | None], *paths: str) -> Damage:
        """Reported by a path, the ledger's directory, table and epoch (its own, or the next one's), a file of the epoch."""
        told: list[tuple[str, ...]] = [(f"{self.picture.base}/{path}",) for path in (*paths, self.home)]
        told += [(self.table, f"epoch {epoch_of(path) + n}") for path in paths for n in (0, 1)]
        told += [(self.table, f"-e{epoch_of(path):06d}-") for path in paths]
        return Damage(kind, f"{kind}: {self.table} {paths}", changes, tuple(told))


def epoch_of(path: str) -> int:
    found = re.search(r"/e(\d+)\.\w+$", path)
    return int(found[1]) if found else -1


def snapshot_damages(ledger: Ledger, count: int, chance: random.Random) -> Iterator[Damage]:
    """Each kind `count` times."""
    files = ledger.picture.files
    paths = ledger.snapshots()
    for path in chance.choices(paths, k=count):
        cut = files[path][: chance.randrange(len(files[path]))]
        yield ledger.damage("snapshot: truncated", {path: cut}, path)
        lines = files[path].splitlines(keepends=True)
        yield ledger.damage("snapshot: last line cut off", {path: b"".join(lines[:-1])}, path)
        yield ledger.damage("snapshot: byte changed", {path: _byte(files[path], chance)}, path)
        yield ledger.damage("snapshot: something added", {path: files[path] + b"\n"}, path)
    for path in (*chance.choices(paths, k=count), paths[0], paths[-1]):
        yield ledger.damage("snapshot: made empty", {path: b""}, path)
        other = chance.choice([p for p in paths if p != path])
        yield ledger.damage("snapshot: another epoch's text", {path: files[other]}, path)


def signed_edits(ledger: Ledger, count: int, chance: random.Random) -> Iterator[Damage]:
    """Digits changed, lines dropped and doubled, file lines with their address, all with a right checksum.

    What stands once and for people is told of every snapshot but the newest: the next one names the checksum it had.
    """
    files = ledger.picture.files
    *older, newest = ledger.snapshots()
    rich = [p for p in ledger.snapshots() if b"\nfile " in files[p]]
    for key in BELIEVED:
        paths = _with_number(ledger, older, key)
        for path in chance.choices(paths, k=count if paths else 0):
            edited = _another_number(files[path], key, chance)
            yield ledger.damage(f"signed edit: {key} of an older snapshot", {path: edited}, path)
    for tag in ("file", "header", "position", "account", "unregistered"):
        paths = [p for p in ledger.snapshots() if f"\n{tag} ".encode() in files[p]]
        for path in chance.choices(paths, k=count):
            edited = _digit(files[path], tag, BELIEVED if path == newest else (), chance)
            yield ledger.damage(f"signed edit: a digit of a {tag} line", {path: edited}, path)
            for kind, times in (("dropped", 0), ("doubled", 2)):
                body = _line(files[path], tag, times, chance)
                yield ledger.damage(f"signed edit: a {tag} line {kind}", {path: signed(body)}, path)
    for path in chance.choices(rich, k=count):
        lines = unsigned(files[path]).split(b"\n")
        addresses = lines[0].split(b"\t")
        gone = chance.randrange(len(addresses))
        del addresses[gone], lines[1 + gone]
        body = b"\n".join([b"\t".join(addresses) or b"-", *lines[1:]])
        yield ledger.damage("signed edit: a file and its address dropped", {path: signed(body)}, path)


def believed_edits(ledger: Ledger, count: int, chance: random.Random) -> Iterator[Damage]:
    """Signed edits of the newest snapshot, of what nothing contradicts."""
    files = ledger.picture.files
    newest = ledger.snapshots()[-1]
    for key in BELIEVED:
        for path in _with_number(ledger, [newest], key) * count:
            edited = _another_number(files[path], key, chance)
            yield ledger.damage(f"signed edit, believed: {key}", {path: edited}, path)


def directory_damages(ledger: Ledger, chance: random.Random) -> Iterator[Damage]:
    """Snapshots deleted and renamed; the generation directory doubled, gone, renamed; the marker."""
    files, paths = ledger.picture.files, ledger.snapshots()
    *_, before, last = paths
    middle = chance.choice(paths[2:-2])
    # without its snapshot an epoch's files are untracked files
    visible = [(line,) for line in re.findall(rb'"final":"([^"]+)"', files[last])]
    for path in (paths[0], middle, before, last):
        gone = ledger.damage("snapshot: deleted", {path: None}, path)
        names = (*gone.names, (ledger.table, f"epochs {epoch_of(path)} to"))
        names += tuple((name.decode(),) for (name,) in visible) if path == last else ()
        yield replace(gone, names=names)
    for path in (paths[0], middle, before, last):
        for number in (epoch_of(path) + 1, epoch_of(path) + chance.randrange(30, 60)):
            there = re.sub(r"/e\d+", f"/e{number:06d}", path)
            changes: dict[str, bytes | None] = {path: None, there: files[path]}
            yield ledger.damage("snapshot: renamed to another number", changes, path, there)
    directory = f"{ledger.home}/{ledger.generation}/"
    inside = {p: data for p, data in files.items() if p.startswith(directory)}
    for kind, name, move in (
        ("doubled", ledger.generation.replace("g0", "g1", 1), False),
        ("doubled", re.sub(r"[0-9a-f]{32}$", f"{chance.getrandbits(128):032x}", ledger.generation), False),
        ("renamed to nobody's name", "old", True),
        ("renamed to nobody's name", f"{ledger.generation}.bak", True),
        ("renamed to a lower number", f"g000000{ledger.generation[7:]}", True),
    ):
        put = {p.replace(directory, f"{ledger.home}/{name}/"): data for p, data in inside.items()}
        changes = {**dict.fromkeys(inside if move else ()), **put}
        yield ledger.damage(f"generation directory: {kind}", changes, f"{ledger.home}/{name}")
    yield ledger.damage("ledger: deleted as a whole", dict.fromkeys(inside))
    marker = f"{ledger.location}/_kafka2hive_owner"
    text = files[marker]
    for edited in (
        _digit_of(text, rb'"ledger":"[0-9a-f]*(\d)', chance),
        text[:-7],
        b"",
        text.replace(b'"ledger"', b'"ledgre"'),
    ):
        yield ledger.damage("owner marker: edited", {marker: edited}, marker)
    gone = ledger.damage("owner marker: deleted", {marker: None}, marker)
    yield replace(gone, remade=frozenset([marker]))


def pending_renamed(ledger: Ledger) -> Damage:
    """The commit of an epoch whose files are still staged, renamed by hand to a finished one."""
    path = ledger.snapshots()[-1]
    text = ledger.picture.files[path]
    assert path.endswith(".pending")
    changes = {path: None, path.replace(".pending", ".final"): text}
    damage = ledger.damage("snapshot: pending renamed to final", changes, path)
    finals = tuple((name.decode(),) for name in re.findall(rb'"final":"([^"]+)"', text))
    return replace(damage, names=(*damage.names, *finals))


def _byte(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(7))]) + data[at + 1 :]


def _lines(data: bytes, tag: str) -> tuple[list[bytes], list[int]]:
    lines = unsigned(data).splitlines(keepends=True)
    return lines, [n for n, line in enumerate(lines) if line.startswith(f"{tag} ".encode())]


def _line(data: bytes, tag: str, times: int, chance: random.Random) -> bytes:
    lines, those = _lines(data, tag)
    at = chance.choice(those)
    return b"".join([*lines[:at], *[lines[at]] * times, *lines[at + 1 :]])


def _with_number(ledger: Ledger, paths: list[str], key: str) -> list[str]:
    """Those of the snapshots in which the key has a value with digits."""
    return [p for p in paths if re.search(rf'"{key}":"?\d'.encode(), ledger.picture.files[p])]


def _another_number(data: bytes, key: str, chance: random.Random) -> bytes:
    """The last digit of one value of the key is another one; signed."""
    found = chance.choice(list(re.finditer(rf'"{key}":"?[\d-]*(\d)'.encode(), data)))
    body = unsigned(data)
    return signed(body[: found.start(1)] + _another_digit(found[1], chance) + body[found.end(1) :])


def _digit(data: bytes, tag: str, believed: tuple[str, ...], chance: random.Random) -> bytes:
    """A digit of one value of such a line, not of those that are believed; of the next one when it has no digit.

    The value is chosen first: how many digits a random name has must not move the choice to another value.
    """
    lines, those = _lines(data, tag)
    at = chance.choice(those)
    line = lines[at]
    keys = list(re.finditer(rb'"(\w+)":', line))
    ends = [*(key.start() for key in keys[1:]), len(line)]
    values = [(k.end(), end) for k, end in zip(keys, ends, strict=True) if k[1].decode() not in believed]
    first = chance.randrange(len(values))
    digits = [
        [found.start() for found in re.compile(rb"\d").finditer(line, begin, end)]
        for begin, end in values[first:] + values[:first]
    ]
    place = chance.choice(next(filter(None, digits)))
    lines[at] = line[:place] + _another_digit(line[place : place + 1], chance) + line[place + 1 :]
    return signed(b"".join(lines))


def _digit_of(text: bytes, pattern: bytes, chance: random.Random) -> bytes:
    found = re.search(pattern, text)
    assert found is not None
    return text[: found.start(1)] + _another_digit(found[1], chance) + text[found.end(1) :]


def _another_digit(digit: bytes, chance: random.Random) -> bytes:
    return chance.choice([b"%d" % d for d in range(10) if b"%d" % d != digit])

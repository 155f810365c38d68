"""What operators order of a table in its inbox, and what its owners do for it; the judges compare it with the snapshots."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple


class Given(NamedTuple):
    """An order: its kind, the version of the operator's map, and the newest finished epoch when it was given."""

    kind: str
    version: Hashable
    epoch: int


class Look(NamedTuple):
    """An owner's look at a file of letters for an epoch.

    `outcome` is `missing`, `failed` (without an answer), `again` (all letters stay) or `changed`.
    """

    generation: int
    epoch: int
    path: str
    outcome: str
    letters: int


class Replayed(NamedTuple):
    """What a command says that it has replayed: files, letters by outcome, and epochs."""

    files: int
    letters: int
    written: int
    filtered: int
    again: int
    epochs: tuple[int, ...]


@dataclass(slots=True)
class Orders:
    """The orders of one schedule: those that were tried by id, those that have arrived, and those that were withdrawn.

    `versions` has the version of the map of each generation's owner, `commands` the generations of commands that replay, and
    `results` what they say in the end. No operator acts while they `rest`.
    """

    given: dict[str, Given] = field(default_factory=dict)
    arrived: set[str] = field(default_factory=set)
    withdrawn: set[str] = field(default_factory=set)
    looks: list[Look] = field(default_factory=list)
    versions: dict[int, Hashable] = field(default_factory=dict)
    commands: set[int] = field(default_factory=set)
    results: dict[int, Replayed] = field(default_factory=dict)
    rest: bool = False

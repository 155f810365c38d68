"""The mistakes of a map, each with its line: all are collected before an error is raised."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kafka2hive.model.errors import ConfigError

Path = tuple[str | int, ...]
_PLAIN_STEP = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class MapPosition:
    """A position in the map's text; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class MapProblem:
    """A mistake: `where` is the key's path (`tables[0].bucket.field`), `suggestion` what was probably meant."""

    line: int
    column: int
    where: str
    message: str
    suggestion: str = ""

    def render(self, name: str) -> str:
        """Return one line: `file:line: where: message (did you mean ..?)`."""
        where = f" {self.where}:" if self.where else ""
        tail = f" (did you mean {self.suggestion}?)" if self.suggestion else ""
        return f"{name}:{self.line}:{where} {self.message}{tail}"


class MapInvalid(ConfigError):
    """The map is wrong; `problems` holds all mistakes in the order of their lines, without secrets."""

    def __init__(self, name: str, problems: tuple[MapProblem, ...]) -> None:
        count = f"{len(problems)} mistake{'s' if len(problems) != 1 else ''}"
        lines = "\n".join(problem.render(name) for problem in problems)
        super().__init__(
            "config.invalid",
            f"{name} has {count}:\n{lines}",
            "correct the map; `kafka2hive validate -c MAP` checks it without any cluster",
        )
        self.name = name
        self.problems = problems


def path_in_map(path: Path) -> str:
    """Return a path as text: `tables[0].bucket` for `("tables", 0, "bucket")`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_STEP.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text


def closest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most similar to `word`, empty if none is."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), by_lower, 1, 0.6)
    return by_lower[matches[0]] if matches else ""


class Problems:
    """Collects problems. Only the first problem of a path is kept, because the others usually follow from it.

    The reader of the text fills `places`: the place of each key of a mapping and each item of a list.
    """

    def __init__(self) -> None:
        self.places: dict[Path, MapPosition] = {}
        self._by_path: dict[Path, MapProblem] = {}
        self._by_place: list[MapProblem] = []

    def add(self, path: Path, message: str, suggestion: str = "") -> None:
        """Add a problem at `path`; a path that is not in the text gets the place of its nearest parent."""
        self._by_path.setdefault(path, self._problem(path, message, suggestion))

    def add_at(self, place: MapPosition, path: Path, message: str) -> None:
        """Add a problem at a given place, even if the path already has one."""
        self._by_place.append(MapProblem(place.line, place.column, path_in_map(path), message))

    def _problem(self, path: Path, message: str, suggestion: str) -> MapProblem:
        known = path
        while known and known not in self.places:
            known = known[:-1]
        place = self.places.get(known, MapPosition(1, 1))
        return MapProblem(
            line=place.line,
            column=place.column,
            where=path_in_map(path),
            message=message,
            suggestion=suggestion,
        )

    def all(self) -> tuple[MapProblem, ...]:
        """Return the problems without duplicates, sorted by place."""
        unique = dict.fromkeys([*self._by_path.values(), *self._by_place])
        return tuple(sorted(unique, key=lambda p: (p.line, p.column, p.where)))

"""What is wrong with a map: every problem with its line, collected before anything is raised."""

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
    """One mistake: `where` is the key's path (`tables[0].bucket.field`), `suggestion` what was probably meant."""

    line: int
    column: int
    where: str
    message: str
    suggestion: str = ""

    def render(self, name: str) -> str:
        """`file:line: where: message (did you mean ..?)`, one line."""
        where = f" {self.where}:" if self.where else ""
        tail = f" (did you mean {self.suggestion}?)" if self.suggestion else ""
        return f"{name}:{self.line}:{where} {self.message}{tail}"


class MapInvalid(ConfigError):
    """The map is wrong; `problems` holds all mistakes in the order of their lines. Never holds a secret."""

    def __init__(self, name: str, problems: tuple[MapProblem, ...]) -> None:
        count = f"{len(problems)} mistake{'s' if len(problems) != 1 else ''}"
        lines = "\n".join(problem.render(name) for problem in problems)
        super().__init__(
            "config.invalid",
            f"{name} has {count}:\n{lines}",
            "correct the map; `kafka2hive validate` checks it without any cluster",
        )
        self.name = name
        self.problems = problems


def where(path: Path) -> str:
    """`("tables", 0, "bucket")` -> `tables[0].bucket`."""
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
    """The known word most like `word`, empty when none is like it."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, 1, 0.6)
    return by_lower[found[0]] if found else ""


class Problems:
    """Collects problems by path; at most one for each path, the first: what follows from it is noise.

    `places` is filled by whoever reads the text: the place of each key (in a mapping) or item (in a list).
    """

    def __init__(self) -> None:
        self.places: dict[Path, MapPosition] = {}
        self._found: dict[Path, MapProblem] = {}
        self._loose: list[MapProblem] = []

    def add(self, path: Path, message: str, suggestion: str = "") -> None:
        """A problem at `path`; a path that is not in the text takes the place of its nearest parent."""
        self._found.setdefault(path, self._problem(path, message, suggestion))

    def add_at(self, place: MapPosition, path: Path, message: str) -> None:
        """A further problem at a place of its own, whatever the path has already."""
        self._loose.append(MapProblem(place.line, place.column, where(path), message))

    def _problem(self, path: Path, message: str, suggestion: str) -> MapProblem:
        known = path
        while known and known not in self.places:
            known = known[:-1]
        place = self.places.get(known, MapPosition(1, 1))
        return MapProblem(
            line=place.line, column=place.column, where=where(path), message=message, suggestion=suggestion
        )

    def all(self) -> tuple[MapProblem, ...]:
        """Sorted by place; without repetitions."""
        unique = dict.fromkeys([*self._found.values(), *self._loose])
        return tuple(sorted(unique, key=lambda p: (p.line, p.column, p.where)))

"""`${NAME}` and `file:/path` in the map's texts, resolved; what they resolve to never stands in a message.

`${NAME}` may stand in any value (not in keys) and means the environment variable; `$${` is a plain `${`. `file:/path` is
understood where a secret belongs, in Kafka properties, Hive's password and the registry's secrets, and for a table's Avro
or Protobuf schema; it means the file's text without its last line break.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from kafka2hive.config.problems import MapProblem, Path, Problems

_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^}]*)\}?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORTEST_HIDDEN = 3


@dataclass(slots=True)
class References:
    """`resolved`: path -> text as written, for every value that held a reference; `hidden`: value -> text as written."""

    resolved: dict[Path, str] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict, repr=False)

    def scrub(self, problem: MapProblem) -> MapProblem:
        """The problem with every resolved value put back to what the map says."""
        message, suggestion = problem.message, problem.suggestion
        for value in sorted(self.hidden, key=len, reverse=True):
            message = message.replace(value, self.hidden[value])
            suggestion = suggestion.replace(value, self.hidden[value])
        return MapProblem(
            line=problem.line,
            column=problem.column,
            where=problem.where,
            message=message,
            suggestion=suggestion,
        )


_SECRETS = frozenset({("hive", "password"), ("registry", "password"), ("registry", "token")})

# It stands in ledgers and messages, and is no property that could be hidden.
_SHOWN = frozenset({("kafka", "group.id")})


def may_be_file(path: Path) -> bool:
    """Where `file:` is understood."""
    return (
        (path[:1] == ("kafka",) and len(path) == 2 and path not in _SHOWN)
        or path in _SECRETS
        or is_schema(path)
    )


def is_schema(path: Path) -> bool:
    return path[-1:] in (("avro_schema",), ("protobuf_schema",)) and path[0] in ("tables", "defaults")


def read_text(path: str) -> str:
    """Text of a file, without its last line break. OSError, UnicodeDecodeError."""
    return FilePath(path).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")


def resolve(
    data: object, environ: Mapping[str, str], problems: Problems, read: Callable[[str], str] = read_text
) -> tuple[object, References]:
    """`data` with every reference resolved. A missing variable or unreadable file is a problem with its line."""
    resolver = _Resolver(environ, problems, read)
    return resolver.value(data, ()), resolver.references


class _Resolver:
    """Resolves the values of one map, and keeps which were references."""

    def __init__(self, environ: Mapping[str, str], problems: Problems, read: Callable[[str], str]) -> None:
        self.references = References()
        self._environ = environ
        self._problems = problems
        self._read = read

    def value(self, value: object, path: Path) -> object:
        match value:
            case dict():
                return {key: self.value(item, (*path, key)) for key, item in value.items()}
            case list():
                return [self.value(item, (*path, index)) for index, item in enumerate(value)]
            case str():
                return self._text(value, path)
            case _:
                return value

    def _text(self, value: str, path: Path) -> str:
        result = _REFERENCE.sub(lambda found: self._variable(found, path), value) if "${" in value else value
        if may_be_file(path) and result.startswith("file:"):
            result = self._file(result, path)
        if result != value:
            self.references.resolved[path] = value
            if len(result) >= _SHORTEST_HIDDEN and not is_schema(path):
                self.references.hidden[result] = value
        return result

    def _variable(self, found: re.Match[str], path: Path) -> str:
        if found[1]:
            return "${"
        name, whole = found[2], found[0]
        if not whole.endswith("}") or not _VARIABLE.fullmatch(name):
            self._problems.add(
                path, "expected ${NAME} with the name of an environment variable ($${ is a plain ${)"
            )
            return whole
        if name not in self._environ:
            self._problems.add(path, f"the environment variable {name} is not set")
            return whole
        if len(self._environ[name]) >= _SHORTEST_HIDDEN:
            self.references.hidden[self._environ[name]] = whole
        return self._environ[name]

    def _file(self, reference: str, path: Path) -> str:
        """The file's text; the reference itself if it cannot be read."""
        try:
            return self._read(reference.removeprefix("file:"))
        except OSError as error:
            self._problems.add(path, f"cannot read the file this points at: {error.strerror}")
        except UnicodeDecodeError:
            self._problems.add(path, "the file this points at is not UTF-8 text")
        except ValueError:  # Path's word for a NUL in the name
            self._problems.add(path, "no file has such a name")
        return reference

"""Read the map's text as plain data with the place of every key, and resolve references to variables and files.

Values that YAML 1.1 reads differently from what most people mean (`no` as false, `010` as 8, `1:30` as 90) are reported with
their line, as are duplicate keys. Quotes or another spelling of such a value remove the mistake.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from kafka2hive.config.keys.declaration import FractionNumber
from kafka2hive.config.yaml.problems import MapPosition, MapProblem, Path, Problems

MOST_VALUES = 200_000
DEEPEST = 20

_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]{0,99})")  # int() refuses thousands of digits
_FRACTION = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"
_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^}]*)\}?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORTEST_HIDDEN = 3
SECRETS = frozenset(
    {("hive", "password"), ("registry", "password"), ("registry", "token"), ("lineage", "token")}
)
_PROPERTIES = frozenset({("storage", "properties"), ("spark", "conf")})
_SHOWN = "group.id"
"""The property of Kafka that is part of messages, and so cannot be hidden."""
_LOCAL_FILES = frozenset(
    {
        ("kerberos", "keytab"),
        ("storage", "kerberos", "keytab"),
        ("storage", "config_dir"),
        ("hive", "kerberos", "keytab"),
        ("hive", "ca_file"),
        ("registry", "ca_file"),
        ("registry", "certificate_file"),
        ("registry", "key_file"),
        ("lineage", "ca_file"),
    }
)
_KAFKA_FILE = re.compile(r".*\.location|sasl\.kerberos\.keytab|sasl\.oauthbearer\.assertion\..*\.file")
SUBMITTED = "KAFKA2HIVE_SUBMITTED"
"""The environment variable with the directory that holds the files and variables that `submit` sent with a map."""
SUBMITTED_FILES, SUBMITTED_VARIABLES = "files.json", "variables.json"
"""Files in that directory: where the copy of each file is, by its path in the map, and the variables that the map refers to."""


def read_document(text: str, problems: Problems) -> object:
    """Return the dicts, lists, strings, numbers, booleans and None of `text`; add places and problems to `problems`.

    None if the text cannot be read at all.
    """
    try:
        if _is_too_deep(text):
            problems.add((), f"is nested more than {DEEPEST} deep")
            return None
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = MapPosition(mark.line + 1, mark.column + 1) if mark else MapPosition(1, 1)
        after = "".join(text.splitlines()[place.line - 1 : place.line])[place.column - 1 :]
        reason = _harmless(error) if after[:1] != "\t" else "a tab is not allowed here: indent with spaces"
        problems.add_at(place, (), f"not YAML: {reason}")
        return None
    except yaml.YAMLError:
        problems.add((), "not YAML: a character that YAML does not allow")
        return None
    data = None if root is None else _NodeReader(problems).value(root, ())
    if data is None and not problems.all():
        problems.add((), "the map is empty")
    return data


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the base is chosen at run time
    """A SafeLoader that reads plain timestamps and `=` as strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (f"{_TAG}timestamp", f"{_TAG}value")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _is_too_deep(text: str) -> bool:
    """Return whether the text is nested too deep, from the parser's events: composing deep nodes would end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                return True
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return False


def _harmless(error: yaml.MarkedYAMLError) -> str:
    """Return the parser's message without quotations of two or more characters, which could be secrets."""
    message = "; ".join(part for part in (error.context, error.problem) if part)
    return re.sub(r"'[^']{2,}'|\"[^\"]{2,}\"", "...", message)


class _NodeReader:
    """Reads composed nodes as plain data, and notes the place of each."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._places = problems.places
        self._open: set[int] = set()
        self._values = 0

    def value(self, node: Node, path: Path) -> object:
        self._values += 1
        if self._values > MOST_VALUES:
            if self._values == MOST_VALUES + 1:
                self._problems.add(
                    (), f"the map has more than {MOST_VALUES} values (aliases within aliases?)"
                )
            return None
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        if len(path) > DEEPEST:  # only aliases can cause this: the text's own depth was checked before
            self._problems.add(path[:1], f"is nested more than {DEEPEST} deep")
            return None
        if id(node) in self._open:
            self._problems.add(path, "an alias is inside its own anchor")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, SequenceNode):
                return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
            assert isinstance(node, MappingNode)
            return self._mapping(node, path)
        finally:
            self._open.discard(id(node))

    def _item(self, node: Node, path: Path) -> object:
        self._places[path] = _place(node)
        return self.value(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str | int, object]:
        result: dict[str | int, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._problems.add_at(_place(key_node), path, "a key must be a plain text")
                continue
            if key_node.tag == f"{_TAG}merge":
                message = "merge keys (<<) are not supported: use `defaults` for what tables share"
                self._problems.add_at(_place(key_node), path, message)
                continue
            key = self._key(key_node, path)
            if key in result:
                first = self._places[(*path, key)].line
                message = f"the key is repeated (first in line {first})"
                self._problems.add_at(_place(key_node), (*path, key), message)
                continue
            self._places.setdefault((*path, key), _place(key_node))
            result[key] = self.value(value_node, (*path, key))
        return result

    def _key(self, node: ScalarNode, path: Path) -> str | int:
        """Return the key as text, or as a number if it is the number of a topic partition."""
        step = node.value
        self._places.setdefault((*path, step), _place(node))
        key = self._scalar(node, (*path, step))
        in_offsets = path[-2:-1] == ("offsets",)
        return key if in_offsets and isinstance(key, int) and not isinstance(key, bool) else str(step)

    def _scalar(self, node: ScalarNode, path: Path) -> object:
        text = str(node.value)
        kind = node.tag.removeprefix(_TAG)
        quote = f"`{text}`" if _may_show(path) else "this value"
        match kind:
            case "str":
                return text
            case "null":
                return None
            case "bool" if text.lower() in ("true", "false"):
                return text.lower() == "true"
            case "int" if _WHOLE.fullmatch(text):
                return int(text.replace("_", ""))
            case "float" if _FRACTION.fullmatch(text):
                return FractionNumber(text.replace("_", ""))
            case "bool":
                meaning = "true" if text.lower() in ("yes", "on", "y") else "false"
                message = f"YAML reads {quote} as {meaning}: put it in quotes, or write true or false"
            case "int" | "float":
                message = f"YAML reads {quote} as a number in another notation: write it in plain digits or in quotes"
            case _:
                message = "YAML tags are not supported here"
        self._problems.add(path, message)
        return text


def _may_show(path: Path) -> bool:
    """Return whether a message may show the value at this path: not if it could be a secret."""
    return not _is_of_kafka(path) and path[:2] not in SECRETS | _PROPERTIES and not _is_of_receiver(path)


def _is_of_kafka(path: Path) -> bool:
    """Return whether it is the place of a cluster, or within it."""
    return path[:1] in (("kafka",), ("kafka_clusters",))


def _is_property_of_kafka(path: Path) -> bool:
    return _is_of_kafka(path) and len(path) == (2 if path[0] == "kafka" else 3)


def _is_of_receiver(path: Path) -> bool:
    """Return whether the value is a token or a header for a receiver of news."""
    return path[:1] == ("news",) and path[2:3] in (("token",), ("headers",))


def _place(node: Node) -> MapPosition:
    return MapPosition(node.start_mark.line + 1, node.start_mark.column + 1)


@dataclass(slots=True)
class References:
    """The references of a map, such as `${NAME}`.

    `resolved` has the text of each by its path in the map, `hidden` that text by the value that must not be shown. `files`
    are the local files and directories that the map names, `variables` the environment variables with their values.
    """

    resolved: dict[Path, str] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict, repr=False)
    files: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict, repr=False)

    def scrub(self, problem: MapProblem) -> MapProblem:
        """Return the problem with each hidden value replaced by its reference."""
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


def resolve(data: object, environ: Mapping[str, str], problems: Problems) -> tuple[object, References]:
    """Return `data` with every reference resolved. A missing variable or an unreadable file is added to `problems`.

    In an application that `submit` started, variables and files are those that it sent.
    """
    sent_files: dict[str, str] = {}
    if directory := environ.get(SUBMITTED):
        folder = FilePath(directory)
        environ = {**environ, **json.loads((folder / SUBMITTED_VARIABLES).read_text(encoding="utf-8"))}
        sent_files = json.loads((folder / SUBMITTED_FILES).read_text(encoding="utf-8"))
    resolver = _ReferenceResolver(environ, problems, sent_files)
    return resolver.value(data, ()), resolver.references


class _ReferenceResolver:
    """Resolves the values of one map and notes its references."""

    def __init__(self, environ: Mapping[str, str], problems: Problems, sent_files: Mapping[str, str]) -> None:
        self.references = References()
        self._environ = environ
        self._problems = problems
        self._sent_files = sent_files

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
        result = _REFERENCE.sub(lambda match: self._variable(match, path), value) if "${" in value else value
        if _may_be_file(path) and result.startswith("file:"):
            result = self._file(result, path)
        if result != value:
            self.references.resolved[path] = value
            if len(result) >= _SHORTEST_HIDDEN and not _is_schema(path):
                self.references.hidden[result] = value
        return self._local(result) if not value.startswith("file:") and _names_file(path, result) else result

    def _variable(self, match: re.Match[str], path: Path) -> str:
        if match[1]:
            return "${"
        name, reference = match[2], match[0]
        if not reference.endswith("}") or not _VARIABLE.fullmatch(name):
            self._problems.add(
                path, "expected ${NAME} with the name of an environment variable ($${ is a plain ${)"
            )
            return reference
        if name not in self._environ:
            self._problems.add(path, f"the environment variable {name} is not set")
            return reference
        self.references.variables[name] = self._environ[name]
        if len(self._environ[name]) >= _SHORTEST_HIDDEN:
            self.references.hidden[self._environ[name]] = reference
        return self._environ[name]

    def _file(self, reference: str, path: Path) -> str:
        """Return the file's text without its last line break, or the reference if the file cannot be read."""
        try:
            text = FilePath(self._local(reference.removeprefix("file:"))).read_text(encoding="utf-8")
            return text.removesuffix("\n").removesuffix("\r")
        except OSError as error:
            self._problems.add(path, f"cannot read the file that this value names: {error.strerror}")
        except UnicodeDecodeError:
            self._problems.add(path, "the file that this value names is not UTF-8 text")
        except ValueError:  # a NUL in the name
            self._problems.add(path, "no file has such a name")
        return reference

    def _local(self, file: str) -> str:
        """Note a file that the map names, and return where it is on this machine."""
        self.references.files.add(file)
        return self._sent_files.get(file, file)


def _names_file(path: Path, value: str) -> bool:
    """Return whether the value at this path is the name of a local file or directory that must exist."""
    return (
        path in _LOCAL_FILES
        or (_is_of_kafka(path) and value != "probe" and _KAFKA_FILE.fullmatch(str(path[-1])) is not None)
        or (path[:1] == ("mask_keys",) and path[-1:] == ("file",))
        or (path[:1] == ("news",) and path[2:] == ("ca_file",))
        or (path[-1:] == ("udfs",) and path[0] == "tables" and value.endswith(".py"))
    )


def _may_be_file(path: Path) -> bool:
    """Return whether a value at this path may be `file:PATH`."""
    return (
        (_is_property_of_kafka(path) and path[-1] != _SHOWN)
        or path in SECRETS
        or _is_of_receiver(path)
        or _is_schema(path)
    )


def _is_schema(path: Path) -> bool:
    is_one = path[-1:] in (("avro_schema",), ("protobuf_schema",)) or path[-2:-1] == ("schemas",)
    return is_one and path[0] in ("tables", "defaults")

"""A parser of Hive's type names into Arrow types.

Grammar and bounds follow the Hive language manual (LanguageManual Types). Hive types that this program does not support
(uniontype, intervals, timestamp with local time zone) are refused by name, never mapped to a similar type.
"""

import difflib
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from kafka2hive.model.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa


SIMPLE = {
    "bigint": "int64",
    "int": "int32",
    "smallint": "int16",
    "tinyint": "int8",
    "double": "float64",
    "float": "float32",
    "boolean": "bool",
    "string": "string",
    "binary": "binary",
    "date": "date32",
}
ALIASES = {"integer": "int", "dec": "decimal", "numeric": "decimal"}
_SYNONYMS = {
    "bigint": ("long", "int64"),
    "decimal(20,0)": ("uint64",),
    "int": ("int32",),
    "smallint": ("short", "int16"),
    "tinyint": ("byte", "int8"),
    "float": ("real", "float32"),
    "double": ("float64", "number"),
    "boolean": ("bool",),
    "string": ("str", "text", "json", "uuid"),
    "binary": ("bytes", "blob"),
    "timestamp": ("datetime", "timestamptz"),
    "array<...>": ("list",),
    "struct<...>": ("object", "row"),
    "map<string,...>": ("dict",),
}
_TYPE_OF_SYNONYM = {word: hive_type for hive_type, words in _SYNONYMS.items() for word in words}
_OF_TEXT = "declare the column as string if the records hold it as text, otherwise as a number"
_OF_INSTANTS = "declare timestamp; values with an offset are converted to the table's zone"
_UNSUPPORTED = {
    "uniontype": "declare a column for each type of the values that is wanted; values of other types become dead letters",
    "interval": _OF_TEXT,
    "interval_year_month": _OF_TEXT,
    "interval_day_time": _OF_TEXT,
    "timestamplocaltz": _OF_INSTANTS,
    "void": "leave the column out",
}
"""Hive's types that no column can have, with what to declare instead."""
_WORDS = [*SIMPLE, "timestamp", "decimal", "varchar", "char", "array", "map", "struct"]
MAX_DECIMAL_DIGITS = 38
MAX_NESTING = 16

TOKEN = re.compile(r"\s*([<>(),:]|`[^`]+`|[^\s<>(),:`]+)")
_SEVERAL_WORDS = re.compile(r"([^\s<>(),:`]+(?:\s+[^\s<>(),:`]+)+)\s*:")


class HiveTypeError(ConfigError):
    """A type text that cannot be parsed; `position` counts its characters from 0.

    `suggestion` says what to write instead; `nearest` is the type that was probably meant. Either may be empty.
    """

    def __init__(
        self, text: str, position: int, problem: str, suggestion: str = "", nearest: str = ""
    ) -> None:
        suggestion = f"did you mean {nearest}?" if nearest else suggestion
        super().__init__("hive_type", f"type {text!r}, character {position + 1}: {problem}", suggestion)
        self.text = text
        self.problem = problem
        self.position = position
        self.suggestion = suggestion
        self.nearest = nearest


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    position: int


def is_map_key(dtype: "pa.DataType") -> bool:
    """Return whether maps may have keys of this type. Floats, times, bytes and nested types have no one text for each value."""
    import pyarrow.types as kinds

    return bool(
        kinds.is_string(dtype)
        or kinds.is_integer(dtype)
        or kinds.is_decimal128(dtype)
        or kinds.is_boolean(dtype)
        or kinds.is_date32(dtype)
    )


class TypeParser:
    """A recursive-descent parser of one type text. `field_names` has the names of the struct fields that it has parsed."""

    def __init__(self, text: str) -> None:
        import pyarrow

        self._pa = pyarrow
        self._text = text
        self._tokens: list[_Token] = []
        self._next = 0
        self.field_names: list[_Token] = []
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            match = TOKEN.match(stripped, at)
            if match is None:
                self._fail(at, f"{stripped[at]!r} is not allowed here")
            self._tokens.append(_Token(match[1], match.start(1)))
            at = match.end()

    def _fail(self, position: int, problem: str, suggestion: str = "") -> NoReturn:
        raise HiveTypeError(self._text, position, problem, suggestion)

    def _peek(self) -> _Token:
        if self._next < len(self._tokens):
            return self._tokens[self._next]
        return _Token("", len(self._text))

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _expect(self, text: str) -> None:
        token = self._take()
        if token.text != text:
            actual = repr(token.text) if token.text else "the end"
            self._fail(token.position, f"expected {text!r}, found {actual}", f"write {text!r} here")

    def parse(self) -> "pa.DataType":
        """Return the type of the whole text. Raises HiveTypeError."""
        dtype = self._type(0)
        rest = self._peek()
        if rest.text:
            self._fail(rest.position, f"{rest.text!r} follows a complete type", "remove it")
        return dtype

    def _type(self, depth: int) -> "pa.DataType":
        token = self._take()
        if depth > MAX_NESTING:
            self._fail(token.position, f"types may be nested only {MAX_NESTING} deep")
        word = ALIASES.get(token.text.lower(), token.text.lower())
        if word in SIMPLE:
            return self._pa.type_for_alias(SIMPLE[word])
        match word:
            case "timestamp":
                return self._timestamp()
            case "varchar" | "char":
                self._numbers(word, 1, [(1, 65535 if word == "varchar" else 255)])
                return self._pa.string()
            case "decimal":
                return self._decimal(token)
            case "array":
                self._expect("<")
                element = self._type(depth + 1)
                self._expect(">")
                return self._pa.list_(element)
            case "map":
                return self._map(depth)
            case "struct":
                return self._struct(depth)
            case _:
                raise HiveTypeError(self._text, token.position, *_advice(token.text))

    def _timestamp(self) -> "pa.DataType":
        after = self._peek()
        if after.text.lower() == "with":
            self._fail(
                after.position,
                "timestamp with time zone is not supported",
                _OF_INSTANTS,
            )
        return self._pa.timestamp("us")

    def _numbers(self, word: str, at_most: int, bounds: list[tuple[int, int]]) -> list[int]:
        self._expect("(")
        numbers: list[int] = []
        while True:
            token = self._take()
            low, high = bounds[len(numbers)]
            if not (token.text.isascii() and token.text.isdigit() and low <= int(token.text[:9]) <= high):
                self._fail(token.position, f"{word} takes a number from {low} to {high} here")
            numbers.append(int(token.text))
            if len(numbers) == at_most or self._peek().text != ",":
                self._expect(")")
                return numbers
            self._expect(",")

    def _decimal(self, start: _Token) -> "pa.DataType":
        if self._peek().text != "(":
            return self._pa.decimal128(10, 0)  # Hive's default for a bare decimal
        numbers = self._numbers("decimal", 2, [(1, MAX_DECIMAL_DIGITS), (0, MAX_DECIMAL_DIGITS)])
        precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
        if scale > precision:
            self._fail(
                start.position,
                f"scale {scale} is more than precision {precision}",
                f"decimal({scale},{scale})",
            )
        return self._pa.decimal128(precision, scale)

    def _map(self, depth: int) -> "pa.DataType":
        self._expect("<")
        start = self._peek()
        key = self._type(depth + 1)
        if not is_map_key(key):
            self._fail(
                start.position,
                "a map's key must be a string, an integer, a decimal, a boolean or a date, "
                f"found {self._text[start.position : self._peek().position].strip()!r}",
                "map<string,...>",
            )
        self._expect(",")
        value = self._type(depth + 1)
        self._expect(">")
        return self._pa.map_(key, value)

    def _struct(self, depth: int) -> "pa.DataType":
        self._expect("<")
        fields: dict[str, pa.DataType] = {}
        lower_names: set[str] = set()
        while True:
            name = self._take()
            if not name.text or name.text in "<>(),:":
                self._fail(name.position, "a field's name is missing", "struct<name:type,...>")
            field = name.text.strip("`")
            if words := _SEVERAL_WORDS.match(self._text, name.position):
                field = words[1]
            if strange := next((c for c in field if not may_name_a_field(c)), ""):
                self._fail(
                    name.position,
                    f"Hive cannot hold a struct field with {strange!r} in its name",
                    "name it with letters, digits and _, or declare a column for it: "
                    f"from: \"$.path['{field}']\"",
                )
            self.field_names.append(name)
            if field.lower() in lower_names:
                self._fail(
                    name.position, f"field {field!r} is declared twice (Hive ignores case)", "rename one"
                )
            lower_names.add(field.lower())
            self._expect(":")
            fields[field] = self._type(depth + 1)
            if self._peek().text != ",":
                self._expect(">")
                return self._pa.struct(list(fields.items()))
            self._expect(",")


def _advice(word: str) -> tuple[str, str, str]:
    """Return the problem with a word that is not a supported type, a suggestion, and the nearest type if there is one."""
    if not word:
        return "a type is missing", "for example bigint, string or decimal(10,2)", ""
    if word.lower() in _UNSUPPORTED:
        return f"{word.lower()} is not supported", _UNSUPPORTED[word.lower()], ""
    near = _TYPE_OF_SYNONYM.get(word.lower()) or next(
        iter(difflib.get_close_matches(word.lower(), _WORDS, 1)), ""
    )
    return f"unknown type {word!r}", f"types are {', '.join(_WORDS)}", near


def may_name_a_field(character: str) -> bool:
    """Return whether Hive allows the character in the name of a struct field.

    If a name has any other character, HiveServer2 4.0.1 refuses CREATE TABLE, or (blank, point) creates a table on which
    every query fails.
    """
    return character in "_$" or unicodedata.category(character)[0] == "L" or character.isdecimal()

"""The form of records of format csv."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.keys.declaration import Key


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """The form of CSV lines, by default that of RFC 4180."""

    delimiter: Annotated[str, Key('Between two fields; a tab is `"\\t"`.', written="character")] = ","
    quote: Annotated[
        str,
        Key(
            "Around a field that may have delimiters and line breaks. Empty: there are no quotes.",
            written="character",
        ),
    ] = '"'
    escape: Annotated[
        str | None,
        Key(
            "Before a character that is taken literally. Without one, a quote within quotes is doubled.",
            written="character",
        ),
    ] = None
    null_text: Annotated[
        str,
        Key(
            "A field of this text without quotes is NULL. By default that is an empty one; a quoted "
            "empty field is the empty text."
        ),
    ] = ""
    trim: Annotated[bool, Key("Leave out blanks and tabs around fields, outside quotes.")] = False
    header: Annotated[
        tuple[str, ...],
        Key(
            "Fields of a header line, in order: a record that holds exactly these texts is no row.",
            written="list of texts",
        ),
    ] = ()
    booleans: Annotated[
        Literal["words", "digits"],
        Key("What fills a `boolean`: `true` and `false`; with `digits` also `1` and `0`."),
    ] = "words"

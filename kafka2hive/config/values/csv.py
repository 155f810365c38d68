"""How fields stand in a record of format csv."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.values.key import Key


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """RFC 4180 where the map says nothing."""

    delimiter: Annotated[str, Key('Character between two fields, e.g. "\\t".')] = ","
    quote: Annotated[
        str, Key("Character around a field that may hold delimiters and line breaks; empty: none.")
    ] = '"'
    escape: Annotated[
        str | None,
        Key("Character before one that is meant as it is. Default: none, a quote in quotes is doubled."),
    ] = None
    null_text: Annotated[str, Key("Text of a field without quotes that is NULL.")] = ""
    trim: Annotated[bool, Key("Leave out blanks and tabs around fields.")] = False
    header: Annotated[
        tuple[str, ...],
        Key(
            "Fields of a header line, in order: a record that holds exactly these texts is no row. Default: none."
        ),
    ] = ()
    booleans: Annotated[
        Literal["words", "digits"], Key("What a boolean is. words: true and false; digits: 1 and 0 too.")
    ] = "words"

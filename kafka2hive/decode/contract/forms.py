"""How a value is written, as the schema in its record says, if that is more than the column's type and the map say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AsWritten:
    """The column takes the value by its own type, without a unit. Each form's `name` names the type in the record's schema."""

    name: str


@dataclass(frozen=True, slots=True)
class Epoch:
    """A number of `unit` (`d`, `s`, `ms`, `us` or `ns`) since 1970 UTC, for a column of timestamps or dates."""

    unit: str
    name: str


@dataclass(frozen=True, slots=True)
class SinceMidnight:
    """A number of `unit` (`ms`, `us` or `ns`) since midnight, for a column of strings."""

    unit: str
    name: str


@dataclass(frozen=True, slots=True)
class Unscaled:
    """The unscaled number of a decimal as bytes in base64, or a JSON number."""

    scale: int
    name: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The column cannot take the value exactly; it takes only null."""

    name: str


@dataclass(frozen=True, slots=True)
class Each:
    """The elements of an array, or the items of a map."""

    form: "Form"


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of a struct by their names in the column's type; other fields are read by their types."""

    forms: "tuple[tuple[str, Form], ...]"


@dataclass(frozen=True, slots=True)
class ElementTexts:
    """The column, a list of strings, takes the characters of each element of an array whose elements are objects.

    `non_finite`: whether NaN and the infinities may stand outside quotes in elements; the decoder of the elements judges them.
    """

    non_finite: bool = False


Form = AsWritten | Epoch | SinceMidnight | Unscaled | Mismatch | Each | Fields | ElementTexts


def note(form: Form | None) -> str:
    """Return what to add to the text of reasons against a value of this form."""
    if form is None or isinstance(form, Each | Fields | ElementTexts):
        return ""
    return f" ({form.name} in the record's schema)"

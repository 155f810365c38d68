"""Columns of a draft that hold personal data or secrets, by their values and by their names, and the masks for them. Pure."""

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.service.draft.columns import words
from kafka2hive.service.draft.map_text import DraftColumn, key_text

_MOST_TEXTS = 500
"""The number of distinct texts of a column that are looked at."""
_MOST = 0.8
"""The share of a column's texts that must be of one kind."""
_NAMES = frozenset(
    (
        *("email", "mail", "phone", "mobile", "fax", "ip", "address", "street", "zip", "postcode"),
        *("ssn", "passport", "iban", "card", "cvv", "birth", "birthday", "dob"),
        *("surname", "lastname", "firstname", "latitude", "longitude", "lat", "lon"),
        *("password", "passwd", "secret", "token"),
    )
)
_MAIL = re.compile(r"[^@\s]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}")
_PHONE = re.compile(
    r"(\+|00)[1-9][0-9 ()./-]{6,18}[0-9]"  # international
    r"|(?=(\D*[0-9]){7,12}\D*$)\(?[0-9]{2,5}\)?[ /-][0-9][0-9 /-]{4,12}[0-9]"
)
_DAY = re.compile(r"[0-9]{2,4}[-/ ][0-9]{1,2}[-/ ][0-9]{1,4}")
_CARD = re.compile(r"[2-6][0-9]{3}([ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}|3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")


@dataclass(frozen=True, slots=True)
class PersonalKind:
    """A kind of personal data: what it is, the mask that `sample` proposes, and whether a text is of it."""

    what: str
    mask: str
    fits: Callable[[str], bool]


def _is_card(text: str) -> bool:
    """Return whether a text is a card's number, with its check digit (Luhn)."""
    if not _CARD.fullmatch(text):
        return False
    digits = [int(character) for character in reversed(text) if character.isdigit()]
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(digits)]
    return sum(doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """Return whether a text is an IBAN, with its check digits (ISO 7064)."""
    plain = text.replace(" ", "")
    if not _IBAN.fullmatch(plain):
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _is_address(text: str) -> bool:
    """Return whether a text is an IPv4 or IPv6 address."""
    if "." not in text and ":" not in text:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


KINDS = (
    PersonalKind("e-mail addresses", "hmac", lambda text: _MAIL.fullmatch(text) is not None),
    PersonalKind("IP addresses", "hmac", _is_address),
    PersonalKind("IBANs", "{partial: {last: 4}}", _is_iban),
    PersonalKind("card numbers", "{partial: {last: 4}}", _is_card),
    PersonalKind(
        "phone numbers", "hmac", lambda text: bool(_PHONE.fullmatch(text)) and not _DAY.fullmatch(text)
    ),
)


def personal_notes(columns: Sequence[DraftColumn], rows: pa.RecordBatch) -> list[str]:
    """Return notes on columns whose values are personal data, with a mask for each, and on names that suggest such data.

    `rows` are the sampled records, decoded. No note quotes a value.
    """
    kinds = {column.name: kind for column in columns if (kind := _kind_of(column, rows)) is not None}
    notes = [
        f"{name} has {kind.what}: leave it out, or mask it, {key_text(name)}: {{type: string, mask: {kind.mask}}}"
        for name, kind in kinds.items()
    ]
    if names := ", ".join(name for name in _suggestive_names(columns) if name not in kinds):
        notes.append(
            f"these names suggest personal data or secrets (leave out the columns that nobody needs, or mask them): {names}"
        )
    return notes


def _kind_of(column: DraftColumn, rows: pa.RecordBatch) -> PersonalKind | None:
    """Return the kind of most texts of the column, None if there is none."""
    if column.type != "string":
        return None
    texts = pc.unique(pc.drop_null(rows.column(column.name)))[:_MOST_TEXTS].to_pylist()
    texts = [text.strip() for text in texts if text.strip()]
    fitting = (kind for kind in KINDS if texts and sum(map(kind.fits, texts)) >= _MOST * len(texts))
    return next(fitting, None)


def _suggestive_names(columns: Sequence[DraftColumn]) -> Iterator[str]:
    """Yield the columns whose names, or whose fields' names, suggest personal data or secrets."""
    for column in columns:
        if _NAMES & set(words(f"{column.name} {' '.join(column.keys)} {column.type}")):
            yield column.name

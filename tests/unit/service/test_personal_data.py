"""`sample` recognises personal data by values with their check digits, and by names, and proposes masks."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from kafka2hive.service.draft.map_text import DraftColumn
from kafka2hive.service.draft.personal import KINDS, PersonalKind, personal_notes

MAILS = ["ann@example.com", "b.o+x@mail.example.org"]
PHONES = ["+41 79 123 45 67", "0041791234567", "(030) 1234-5678"]
IBANS = ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"]
CARDS = ["4111111111111111", "5500 0000 0000 0004", "3782 822463 10005"]
ADDRESSES = ["192.0.2.7", "2001:db8::1"]
FITTING = {
    "e-mail addresses": MAILS,
    "IP addresses": ADDRESSES,
    "IBANs": IBANS,
    "card numbers": CARDS,
    "phone numbers": PHONES,
}
OTHERS = [
    *("4111111111111112", "DE89370400440532013001", "300.1.2.3", "ann@example", "2013-01-17", "17/01/2013"),
    *("1234567890", "12:30", "cafe", "20130117", "1.5", "a@b c.com", "0815"),
]


def notes(name: str, values: Sequence[str | None]) -> list[str]:
    column = DraftColumn(name, "string", (name,))
    return personal_notes([column], pa.record_batch({name: pa.array(values, pa.string())}))


@pytest.mark.parametrize("kind", KINDS, ids=[kind.what for kind in KINDS])
def test_a_kind_has_its_own_texts_and_none_of_the_others(kind: PersonalKind) -> None:
    fits = kind.fits
    for what, texts in FITTING.items():
        assert [text for text in texts if fits(text) != (what == kind.what)] == []
    assert [text for text in OTHERS if fits(text)] == []


def test_a_column_of_such_values_gets_a_mask_and_no_value_is_quoted() -> None:
    (note,) = notes("who", [*(f"{n}{MAILS[0]}" for n in range(8)), None, "", "unknown"])
    assert note == "who has e-mail addresses: leave it out, or mask it, who: {type: string, mask: hmac}"
    (note,) = notes("pay", CARDS)
    assert note.endswith("pay: {type: string, mask: {partial: {last: 4}}}")


def test_a_few_such_values_make_no_column_of_them() -> None:
    assert notes("who", [*MAILS, "x", "y"]) == []
    assert notes("who", [None, ""]) == notes("who", []) == []


def test_names_suggest_such_data_where_values_do_not() -> None:
    (note,) = notes("user_email", ["x"])
    assert note.endswith("mask them): user_email")
    (note,) = notes("email", MAILS)
    assert "these names" not in note
    column = DraftColumn("u", "struct<passwd:string>", ("u",))
    rows = pa.record_batch({"u": pa.array([{"passwd": "x"}])})
    assert len(personal_notes([column], rows)) == 1

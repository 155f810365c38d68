"""The inbox of a service: an order appears once and whole, and whatever is no order is named and moved aside."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.inbox import (
    MOST_BYTES,
    GiveUpRegistration,
    Inbox,
    Instruction,
    NotAnOrder,
    Order,
    PauseTable,
    ResumeTable,
    decode,
    encode,
    new_order,
)
from kafka2hive.ledger.ports import Ports
from tests.harness.cli_ledger import wired

TABLE, ME = "air.flights", "anna@etl1"


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    return wired(tmp_path, "tables: [{table: air.flights, topics: [flights], format: raw}]").ports


@pytest.fixture
def inbox(ports: Ports, tmp_path: Path) -> Inbox:
    return Inbox(ports, f"{tmp_path.as_uri()}/k", "demo")


def place(tmp_path: Path) -> Path:
    return tmp_path / "k/inbox/demo"


def order(ports: Ports, instruction: Instruction | None = None, at: str = "2026-11-25T08:00:00Z") -> Order:
    given = new_order(ports, "demo", TABLE, ME, instruction or PauseTable())
    return replace(given, given_at=at)


@pytest.mark.parametrize(
    "instruction", [PauseTable(), ResumeTable(), GiveUpRegistration(TABLE, "dt=2013-01-17")]
)
def test_each_kind_of_order_is_read_as_it_was_given(
    ports: Ports, inbox: Inbox, instruction: Instruction
) -> None:
    given = order(ports, instruction)
    inbox.give(given)
    assert inbox.look() == ([given], [], set())


def test_orders_are_read_in_the_order_in_which_they_were_given(ports: Ports, inbox: Inbox) -> None:
    given = [order(ports, at=f"2026-11-25T08:00:{second:02}Z") for second in (40, 7, 59, 21)]
    for each in given:
        inbox.give(each)
    assert inbox.look()[0] == sorted(given, key=lambda each: each.given_at)


def test_an_inbox_that_is_not_there_is_empty(inbox: Inbox) -> None:
    assert inbox.look() == ([], [], set())


def test_a_done_order_and_a_rejected_one_leave_the_inbox_and_stay_readable(
    ports: Ports, inbox: Inbox, tmp_path: Path
) -> None:
    first, second = order(ports), order(ports)
    inbox.give(first)
    inbox.give(second)
    assert inbox.move_to_done(first) and inbox.reject(f"{second.id}.json")
    assert inbox.look() == ([], [], set())
    assert decode((place(tmp_path) / f"done/{first.id}.json").read_bytes(), first.id, "demo") == first
    assert (inbox.is_rejected(first.id), inbox.is_rejected(second.id)) == (False, True)
    assert inbox.move_to_done(first)  # another owner was faster


def test_a_copy_of_a_done_order_can_be_moved_too(ports: Ports, inbox: Inbox, tmp_path: Path) -> None:
    given = order(ports)
    inbox.give(given)
    assert inbox.move_to_done(given)
    (place(tmp_path) / f"{given.id}.json").write_bytes(encode(given))
    assert inbox.move_to_done(given)
    assert len(list((place(tmp_path) / "done").iterdir())) == 2


def test_a_draft_is_no_order_and_is_left_alone(ports: Ports, inbox: Inbox, tmp_path: Path) -> None:
    place(tmp_path).mkdir(parents=True)
    draft = place(tmp_path) / f"{ports.new_uuid()}.json.in-progress"
    draft.write_bytes(b"half")
    assert inbox.look() == ([], [], set())
    assert draft.exists()


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("note.txt", b"", "order.foreign"),
        ("7" * 31 + ".json", b"", "order.foreign"),
        ("7" * 32 + ".json", b" " * (MOST_BYTES + 1), "order.foreign"),
        ("7" * 32 + ".json", b"", "order.malformed"),
        ("7" * 32 + ".json", b"[]", "order.malformed"),
        ("7" * 32 + ".json", b"\xff\xfe", "order.malformed"),
    ],
)
def test_a_file_that_is_no_order_is_named(
    inbox: Inbox, tmp_path: Path, name: str, text: bytes, code: str
) -> None:
    place(tmp_path).mkdir(parents=True)
    (place(tmp_path) / name).write_bytes(text)
    orders, (misfit,), _ = inbox.look()
    assert (orders, misfit.name, misfit.code) == ([], name, code)
    assert inbox.reject(name)
    assert (place(tmp_path) / "rejected" / name).read_bytes() == text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"format": 2}, "order.malformed"),
        ({"kind": "drop"}, "order.malformed"),
        ({"kind": None}, "order.malformed"),
        ({"table": 7}, "order.malformed"),
        ({"table": "a\0b.t"}, "order.malformed"),
        ({"table": "../air.flights"}, "order.malformed"),
        ({"table": "air." + "f" * 300}, "order.malformed"),
        ({"by": None}, "order.malformed"),
        ({"more": "x"}, "order.malformed"),
        ({"kind": "forget-registration"}, "order.malformed"),
        ({"id": "8" * 32}, "order.foreign"),
        ({"service": "other"}, "order.foreign"),
    ],
)
def test_a_text_with_one_wrong_member_is_no_order(ports: Ports, change: dict[str, object], code: str) -> None:
    given = order(ports)
    text = json.dumps(json.loads(encode(given)) | change).encode()
    with pytest.raises(NotAnOrder) as refused:
        decode(text, given.id, "demo")
    assert refused.value.code == code


def test_a_text_that_lacks_a_member_is_no_order(ports: Ports) -> None:
    given = order(ports)
    whole = json.loads(encode(given))
    for member in whole:
        text = json.dumps({name: value for name, value in whole.items() if name != member}).encode()
        with pytest.raises(NotAnOrder):
            decode(text, given.id, "demo")

"""Schema ids in headers of Azure's and Apicurio's serializers: without a readable header, no byte of the data is an id."""

from typing import Any
from uuid import UUID

import pytest

from kafka2hive.config.keys import Framing
from kafka2hive.decode.schemas.declared import declared_schemas
from kafka2hive.model.errors import TableError
from kafka2hive.task.writer_schemas import writers_of
from tests.harness.task_files import MemoryFiles, table_settings, task_settings
from tests.unit.task.test_schema_headers import GUID, LONG, NEGATED, outcome, table

ID = bytes(7) + b"\5"
HEADERS: dict[Framing, tuple[str, bytes]] = {
    "azure": ("content-type", f"avro/binary+{GUID.replace('-', '')}".encode()),
    "apicurio_global": ("apicurio.value.globalId", ID),
    "apicurio_content": ("apicurio.value.contentId", ID),
}


def schemas(framing: Framing) -> tuple[tuple[str, str], ...]:
    return ((GUID if framing == "azure" else "5", NEGATED),)


def outcomes(framing: Framing, records: list[Any]) -> list[Any]:
    writers = declared_schemas(framing, schemas(framing))
    return outcome(table(framing=framing), records, writers=writers)


@pytest.mark.parametrize("framing", HEADERS)
def test_a_record_is_read_by_the_schema_that_its_header_names(framing: Framing) -> None:
    name, value = HEADERS[framing]
    assert outcomes(
        framing,
        [
            (b"\x01\x0e", [("other", b"x"), (name, value)]),
            (b"\x01\x10", [(name, b"bad"), (name, value)]),  # the last of a name
            (None, [(name, value)]),
        ],
    ) == [{"n": 7}, {"n": 8}, "skipped"]


@pytest.mark.parametrize("framing", HEADERS)
def test_without_a_readable_header_a_record_is_a_dead_letter_even_if_its_data_looks_like_an_id(
    framing: Framing,
) -> None:
    name, value = HEADERS[framing]
    like_an_id = (b"\1" + UUID(GUID).bytes if framing == "azure" else b"\0" + ID) + b"\x01\x0e"
    found = outcomes(
        framing,
        [
            (like_an_id, None),
            (like_an_id, [("other", b"x")]),
            (like_an_id, [(name, None)]),
            (like_an_id, [(name, b"")]),
            (like_an_id, [(name, value[:-1])]),
            (like_an_id, [(name, value + b"0")]),
            (b"\x01\x0e", [(name, value)]),
        ],
    )
    assert found[-1] == {"n": 7}
    assert [text.partition(", which must")[0] for text in found[:3]] == [f"avro.frame: no header {name}"] * 3
    assert all(text.startswith(f"avro.frame: header {name} is not ") for text in found[3:-1])


def test_azures_guid_is_read_with_and_without_hyphens_and_nothing_else_is() -> None:
    good = [f"avro/binary+{GUID}", f"avro/binary+{GUID.upper().replace('-', '')}"]
    bad = [f"avro/json+{GUID}", GUID, f"avro/binary+{GUID[:-1]}g", f"avro/binary+{{{GUID}}}"]
    found = outcomes("azure", [(b"\x01\x0e", [("content-type", text.encode())]) for text in good + bad])
    assert found[:2] == [{"n": 7}] * 2
    assert all("is not avro/binary+ and a GUID" in text for text in found[2:])


def test_a_negative_id_of_apicurio_is_none() -> None:
    (text,) = outcomes("apicurio_global", [(b"\x01\x0e", [(HEADERS["apicurio_global"][0], b"\xff" * 8)])])
    assert "is not an id in 8 bytes" in text


@pytest.mark.parametrize("framing", HEADERS)
def test_another_framing_says_which_header_names_a_schema(framing: Framing) -> None:
    writers = declared_schemas("id4", [("5", LONG)])
    (text,) = outcome(table(), [(b"\x01\x0e", [HEADERS[framing]])], writers=writers)
    assert f"its header {HEADERS[framing][0]} names a schema, which `framing: {framing}` reads" in text


def test_the_schemas_of_the_map_are_those_of_the_task() -> None:
    settings = table(framing="azure", schemas=schemas("azure"))
    writers = writers_of(settings, task_settings("", settings), MemoryFiles(), keeps=False)
    name, value = HEADERS["azure"]
    assert outcome(settings, [(b"\x01\x0e", [(name, value)])], writers=writers) == [{"n": 7}]
    bad = table(framing="azure", schemas=((GUID, "{}"),))
    with pytest.raises(TableError, match=rf"db.t: schemas.{GUID}: no type"):
        writers_of(bad, task_settings("", table_settings()), MemoryFiles(), keeps=False)

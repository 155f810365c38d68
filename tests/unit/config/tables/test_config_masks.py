"""Masks in the map, and the maps that are refused because the plain value would be elsewhere."""

import pytest

from kafka2hive.config.keys import MetadataColumn, ServiceMap
from kafka2hive.config.keys.masks import Mask, MaskKeyFile
from kafka2hive.config.load import load_text, read_references
from tests.harness.map_text import FILMS, HEAD, problems_of

LETTERS = "dead_letters: {payload: drop}\n"
KEYS = "mask_keys: [{file: /etc/k2h/mask.key, fingerprint: k1a2b3c4d}]\n"
MASKED = "    columns: {id: bigint, mail: {type: string, mask: hash}}\n"


def loaded(lines: str, head: str = LETTERS) -> ServiceMap:
    return load_text(HEAD + head + FILMS + lines, "map.yaml", {})


def test_each_mask_has_its_form_and_a_column_without_one_has_none() -> None:
    lines = (
        "    columns:\n      - {name: a, type: string, mask: hash}\n      - {name: b, type: string, mask: hmac}\n"
        "      - {name: c, type: string, mask: {partial: {first: 1, last: 4}}}\n"
        "      - {name: d, type: 'array<string>', mask: drop}\n      - {name: e, type: string}\n"
    )
    service_map = loaded(lines, LETTERS + KEYS)
    masks = [column.mask for column in service_map.tables[0].columns]
    assert masks == [Mask("hash"), Mask("hmac"), Mask("partial", 1, 4), Mask("drop"), None]
    assert service_map.mask_keys == (MaskKeyFile(file="/etc/k2h/mask.key", fingerprint="k1a2b3c4d"),)
    assert service_map.dead_letters.payload == "drop"


def test_sql_reads_the_masked_columns_of_records() -> None:
    lines = (
        "    records: {id: bigint, mail: {type: string, mask: hash}}\n    columns: {mail: string}\n"
        "    sql: SELECT mail FROM records\n    bucket: {path: 'm={mail}'}\n"
    )
    (table,) = loaded(lines).tables
    assert [column.mask for column in table.decoded_columns] == [None, Mask("hash")]


def test_the_column_with_the_keys_fingerprint_needs_hmac() -> None:
    lines = "    metadata: [mask_key]\n    columns: {id: bigint, mail: {type: string, mask: hmac}}\n"
    assert loaded(lines, LETTERS + KEYS).tables[0].metadata == ((MetadataColumn.MASK_KEY, "kafka_mask_key"),)
    (problem,) = problems_of(HEAD + LETTERS + FILMS + "    metadata: [mask_key]\n" + MASKED)
    assert "mask_key is used only if a column has mask: hmac" in problem


def test_submit_sends_the_files_of_keys(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("map") / "map.yaml"
    path.write_text(HEAD + LETTERS + KEYS + FILMS + MASKED.replace("hash", "hmac"))
    assert read_references(str(path), {}).files == {"/etc/k2h/mask.key"}


REFUSED = [
    ("", MASKED, "dead_letters.payload: is required by the masks of air.films"),
    (LETTERS, "    columns: {id: bigint}\n", "dead_letters.payload: is used only if a column has a mask"),
    (LETTERS, MASKED.replace("hash", "hmac"), "mask_keys: is required by mask: hmac"),
    (LETTERS + KEYS, MASKED, "mask_keys: is used only with mask: hmac"),
    (LETTERS, MASKED.replace("string", "'varchar(9)'"), "hash is used only with a string, drop with every"),
    (LETTERS, MASKED.replace("string", "bigint"), "hash is used only with a string, drop with every"),
    (LETTERS, MASKED.replace("mask: hash", "mask: {partial: {}}"), "needs first or last, or both"),
    (LETTERS, MASKED.replace("mask: hash", "mask: {partial: {last: -1}}"), "greater than or equal to 0"),
    (LETTERS, MASKED.replace("mask: hash", "mask: sha"), "expected hash, hmac or drop"),
    (LETTERS, MASKED + "    bucket: {path: 'm={mail}'}\n", "bucket needs the plain value of mail"),
    (
        LETTERS,
        "    columns: {id: bigint, at: {type: timestamp, mask: drop}}\n    bucket: {field: at}\n",
        "bucket needs the plain value of at",
    ),
    (
        LETTERS,
        "    columns: {id: bigint, mail: {type: string, mask: hash}, plain: {type: string, from: $.mail}}\n",
        "column plain has no mask, and would hold the plain value of mail",
    ),
    (
        LETTERS,
        "    rows: {array: $.a.b}\n    columns: {mail: {type: string, mask: hash},"
        " a: {type: string, message: $.a, json: text}}\n",
        "column a has no mask, and would hold the plain value of mail",
    ),
    (
        LETTERS,
        "    columns: {u: 'struct<mail:string>', mail: {type: string, from: [$.mail, $.u.mail], mask: hash}}\n",
        "column u has no mask, and would hold the plain value of mail",
    ),
    (
        LETTERS,
        "    metadata: [key]\n    columns: {id: bigint, mail: {type: string, key: $, mask: hash}}\n",
        "the metadata column key would hold the plain value of mail",
    ),
    (
        LETTERS,
        "    metadata: [headers]\n    columns: {id: bigint, mail: {type: string, header: m, mask: hash}}\n",
        "the metadata column headers would hold the plain value of mail",
    ),
    (
        LETTERS,
        "    source: {debezium: {before: true, decimals: text}}\n" + MASKED,
        "would hold the plain values of the columns with a mask",
    ),
    (
        LETTERS,
        "    source: debezium\n    metadata: [partition, offset]\n    latest: {key: [mail]}\n" + MASKED,
        "latest needs the plain value of mail",
    ),
    (
        LETTERS,
        "    records: {id: bigint}\n    columns: {id: {type: string, mask: hash}}\n    sql: SELECT id FROM records\n",
        "move from, header, key, unit and mask to records",
    ),
    (LETTERS + KEYS.replace("k1a2b3c4d", "k1"), MASKED.replace("hash", "hmac"), "eight hexadecimal digits"),
]


@pytest.mark.parametrize(("head", "lines", "message"), REFUSED)
def test_a_contradiction_is_refused_with_its_line(head: str, lines: str, message: str) -> None:
    problems = problems_of(HEAD + head + FILMS + lines)
    assert any(message in problem for problem in problems), problems
    assert all(problem.startswith("map.yaml:") for problem in problems)


def test_columns_of_a_csv_have_no_paths_to_compare() -> None:
    lines = "    format: csv\n    columns: {id: bigint, mail: {type: string, mask: hash}}\n"
    assert loaded(lines).tables[0].columns[1].mask == Mask("hash")


def test_other_masks_of_the_same_value_are_no_contradiction() -> None:
    lines = (
        "    columns:\n      mail: {type: string, mask: hash}\n"
        "      tail: {type: string, from: $.mail, mask: {partial: {last: 3}}}\n      id: bigint\n"
    )
    assert len(loaded(lines).tables[0].columns) == 3


def test_a_column_with_the_whole_value_would_hold_the_plain_value() -> None:
    lines = MASKED.replace("id: bigint", "all: {type: string, json: text, from: $}")
    (problem,) = problems_of(HEAD + LETTERS + FILMS + lines)
    assert "column all has no mask, and would hold the plain value of mail" in problem


def test_a_masked_column_of_an_element_may_have_the_path_of_one_around_the_array() -> None:
    columns = "{mail: {type: string, mask: drop}, of: {type: string, message: $.mail}}"
    table = loaded(f"    rows: {{array: $.b}}\n    columns: {columns}\n", LETTERS).tables[0]
    assert [column.mask is None for column in table.columns] == [False, True]

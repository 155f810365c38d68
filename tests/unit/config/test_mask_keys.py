"""The keys of masks: read from files, and compared with the map's fingerprints."""

from pathlib import Path

import pytest

from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_text
from kafka2hive.config.mask_keys import fingerprint_of, read_mask_keys
from kafka2hive.model.errors import ConfigError
from tests.harness.map_text import FILMS, HEAD

SECRET = b"a key of 16 byte"


def map_of(*entries: str, mask: str = "hmac") -> ServiceMap:
    columns = f"    columns: {{id: bigint, mail: {{type: string, mask: {mask}}}}}\n"
    keys = f"mask_keys: [{', '.join(entries)}]\n" if entries else ""
    return load_text(HEAD + "dead_letters: {payload: drop}\n" + keys + FILMS + columns, "map.yaml", {})


def entry(file: Path, key: bytes = SECRET) -> str:
    return f"{{file: {file}, fingerprint: {fingerprint_of(key)}}}"


def test_the_keys_are_read_without_the_line_break_at_the_end_the_first_one_first(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_bytes(SECRET + b"\n")
    old.write_bytes(b"another key of some bytes\r\n")
    keys = read_mask_keys(map_of(entry(new), entry(old, b"another key of some bytes")))
    assert keys == (SECRET, b"another key of some bytes")


def test_a_map_without_hmac_reads_no_file() -> None:
    assert read_mask_keys(map_of(mask="hash")) == ()


@pytest.mark.parametrize(
    ("content", "key", "code"),
    [
        (None, SECRET, "mask.key_unreadable"),
        (b"", SECRET, "mask.key_weak"),
        (b"15 bytes are few\n"[1:], SECRET, "mask.key_weak"),
        (b"another key of some bytes", SECRET, "mask.key_changed"),
        (SECRET, None, "mask.key_changed"),
    ],
)
def test_a_file_that_is_missing_short_or_changed_is_a_named_error(
    tmp_path: Path, content: bytes | None, key: bytes | None, code: str
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_mask_keys(map_of(f"{{file: {file}}}" if key is None else entry(file, key)))
    error = caught.value
    assert error.code == code and "mask_keys[0]" in error.message
    if code == "mask.key_changed":
        assert fingerprint_of(content or b"") in error.message + error.remedy
    assert SECRET.decode() not in error.message + error.remedy


def test_a_fingerprint_does_not_show_the_key_and_differs_with_it() -> None:
    assert fingerprint_of(SECRET) == fingerprint_of(SECRET) != fingerprint_of(SECRET + b"!")
    assert len(fingerprint_of(SECRET)) == 9

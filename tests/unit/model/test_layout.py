"""Names and paths are parsed back as they were built, foreign names are not parsed, and no data file is hidden from Hive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.model.paths.ledger import (
    Generation,
    draft_name,
    heartbeat_name,
    is_draft_name,
    parse_heartbeat_name,
    parse_snapshot_name,
    snapshot_name,
)
from kafka2hive.model.paths.path import parse_partition_path, partition_path
from kafka2hive.model.paths.table_directory import DataFileName, bucket_slug

uuids = st.uuids().map(lambda u: u.hex)
numbers = st.integers(0, 10**9)
hosts = st.from_regex(r"[A-Za-z0-9.-]{1,20}", fullmatch=True)
owners = st.builds(lambda host, pid, uuid: f"{host}-{pid}-{uuid}", hosts, st.integers(1, 2**22), uuids)
columns = st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True)


@given(numbers, owners)
def test_a_generation_directory_round_trips(number: int, owner: str) -> None:
    generation = Generation(number, "20261121T081200Z", owner)
    assert Generation.parse(generation.name) == generation
    assert Generation.parse(Generation(number).name) == Generation(number)


@given(numbers, st.sampled_from(["final", "pending"]), uuids)
def test_snapshot_names_round_trip_and_drafts_are_told_apart(epoch: int, state: str, uuid: str) -> None:
    assert parse_snapshot_name(snapshot_name(epoch, state)) == (epoch, state)
    draft = draft_name(epoch, uuid)
    assert is_draft_name(draft)
    assert parse_snapshot_name(draft) is None


@given(
    st.text(max_size=200),
    st.integers(0, 9999),
    uuids,
    numbers,
    numbers,
    uuids,
    st.sampled_from(["parquet", "json", "json.gz", "text.zst", "avro"]),
)
def test_data_file_names_round_trip_in_every_state(
    path: str, task: int, ledger: str, generation: int, epoch: int, uuid: str, extension: str
) -> None:
    name = DataFileName(
        slug=bucket_slug(path),
        task=task,
        ledger=ledger[:8],
        generation=generation,
        epoch=epoch,
        uuid=uuid,
        extension=extension,
    )
    for state in ("in-progress", "pending", "final"):
        text = name.in_state(state)
        assert DataFileName.parse(text) == (name, state)
        assert len(text) < 200
        assert text[0] not in "_."  # Hive hides such names
        assert "/" not in text
        _, dot, codec = extension.partition(".")
        assert text.endswith(f".{state}{dot}{codec}")  # Hadoop tells a codec by the last suffix


@given(st.lists(st.tuples(columns, st.text(max_size=30)), max_size=4).map(tuple))
def test_partition_paths_round_trip_whatever_the_values_are(values: tuple[tuple[str, str], ...]) -> None:
    if any(value == "__HIVE_DEFAULT_PARTITION__" for _, value in values):
        return  # Hive's own name for no value
    path = partition_path(values)
    assert parse_partition_path(path) == values
    assert path.count("/") == max(len(values) - 1, 0)


@given(owners, numbers)
def test_heartbeat_names_round_trip(owner: str, count: int) -> None:
    assert parse_heartbeat_name(heartbeat_name(owner, count)) == (owner, count)


@given(st.text(max_size=120))
def test_a_text_is_parsed_only_if_it_is_exactly_a_name(text: str) -> None:
    generation = Generation.parse(text)
    assert generation is None or generation.name == text
    file = DataFileName.parse(text)
    assert file is None or file[0].in_state(file[1]) == text


@pytest.mark.parametrize(
    "name",
    ["e000041.final.tmp", "e41.final", "E000041.final", "e000041.Final", "g7.init", "xe000041.pending", ""],
)
def test_similar_names_are_ignored(name: str) -> None:
    assert parse_snapshot_name(name) is None
    assert Generation.parse(name) is None


UUID = "0" * 31 + "a"


@pytest.mark.parametrize("digits", ["\u0660" * 6, "\uff11" * 6, "9" * 5000])
def test_digits_of_other_scripts_and_thousands_of_digits_are_ignored(digits: str) -> None:
    assert Generation.parse(f"g{digits}.init") is None
    assert parse_snapshot_name(f"e{digits}.final") is None
    assert not is_draft_name(f"e{digits}.{UUID}.in-progress")
    assert parse_heartbeat_name(f"beat.host-1-{UUID}.{digits}") is None
    assert DataFileName.parse(f"all_task_{digits}-00000000-g000001-e000001-{UUID}.parquet.final") is None
    assert DataFileName.parse(f"all_task_1-00000000-g{digits}-e000001-{UUID}.parquet.final") is None


@pytest.mark.parametrize(
    "end", ["json.gz.final", "json.final.gz.gz", "json.final.bz2", "json.final.", "gz.final", ".final.gz"]
)
def test_a_codec_follows_the_state_once_and_must_be_known(end: str) -> None:
    assert DataFileName.parse(f"all_task_1-00000000-g000001-e000001-{UUID}.json.final.gz") is not None
    found = DataFileName.parse(f"all_task_1-00000000-g000001-e000001-{UUID}.{end}")
    assert found is None or (end, found[0].extension) == ("gz.final", "gz")


def test_a_number_with_needless_zeros_is_ignored() -> None:
    assert is_draft_name(f"e000007.{UUID}.in-progress")
    assert not is_draft_name(f"e0000007.{UUID}.in-progress")
    assert parse_heartbeat_name(f"beat.host-1-{UUID}.7") == (f"host-1-{UUID}", 7)
    assert parse_heartbeat_name(f"beat.host-1-{UUID}.07") is None

"""Schemas by id: from memory, from the storage, from the registry; unknown ids and outages are never confused."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.decode.schemas.writers import same_schema
from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.model.paths.ledger import schema_path
from kafka2hive.model.writer_schema import SchemaId, SchemaReference, WriterSchema
from kafka2hive.registry.lookup import (
    CONFIRM_SECONDS,
    MOST_BYTES,
    MOST_CONFIRMED,
    MOST_REMEMBERED,
    MOST_UNKNOWN,
    UNKNOWN_SECONDS,
    SchemaLookup,
)
from kafka2hive.registry.port import NewestSchema, denied_credentials
from kafka2hive.registry.schema_store import KeptSchema, KeptSchemas, identity_of, read_kept, write_kept
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import Denied, NotFound, Unavailable
from tests.harness.clock import SkippedTime

FLIGHT = WriterSchema("AVRO", '{"type": "record"}', (SchemaReference("x", "a"), SchemaReference("y", "b")))
OTHER = WriterSchema("AVRO", "other")
COMPARE_SECONDS = 300.0
AWAY = SchemaRegistryUnavailable("the schema registry gives no answer (http://r: refused)")


class FakeRegistry:
    """A registry with `schemas` by id; several answers of an id come in order, and an exception is raised."""

    def __init__(self, schemas: dict[Any, list[WriterSchema | TableError | None]] | None = None) -> None:
        self.schemas = schemas or {}
        self.asked: list[SchemaId] = []

    def schema(self, schema_id: SchemaId) -> WriterSchema | None:
        self.asked.append(schema_id)
        said = self.schemas.get(schema_id, [None])
        answer = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(answer, TableError):
            raise answer
        return answer

    def newest(self, subject: str) -> NewestSchema | None:
        return None

    def kinds(self) -> tuple[str, ...]:
        return ("AVRO",)


class Lookups:
    """Lookups that share one storage; each `of` is another process."""

    def __init__(self, folder: Path) -> None:
        self.root = f"file://{folder}/kafka2hive"
        self.files = LocalFileSystem()
        self.clock = SkippedTime()
        self.drafts = 0

    def of(self, registry: FakeRegistry, url: str = "http://r", *, keeps: bool = True) -> SchemaLookup:
        return SchemaLookup(
            registry,
            self.kept(url),
            self.clock,
            urls=url,
            same=same_schema,
            compare_seconds=COMPARE_SECONDS,
            keeps=keeps,
        )

    def kept(self, url: str = "http://r") -> KeptSchemas:
        return KeptSchemas(self.files, self.root, identity_of(RegistryOptions(url=url)), self._uuid)

    def path(self, schema_id: int, url: str = "http://r") -> Path:
        whole = schema_path(self.root, identity_of(RegistryOptions(url=url)), schema_id)
        return Path(whole.removeprefix("file://"))

    def _uuid(self) -> str:
        self.drafts += 1
        return f"{self.drafts:032x}"


@pytest.fixture
def lookups(tmp_path: Path) -> Lookups:
    return Lookups(tmp_path)


def test_a_schema_is_asked_for_once_in_a_process(lookups: Lookups) -> None:
    registry = FakeRegistry({7: [FLIGHT]})
    lookup = lookups.of(registry)
    assert [lookup.get(7), lookup.get(7)] == [FLIGHT, FLIGHT]
    assert registry.asked == [7]


def test_what_was_used_once_is_known_to_every_later_process_while_the_registry_is_away(
    lookups: Lookups,
) -> None:
    lookups.of(FakeRegistry({7: [FLIGHT]})).get(7)
    away = FakeRegistry({7: [AWAY], 8: [AWAY]})
    later = lookups.of(away)
    assert later.get(7) == FLIGHT
    with pytest.raises(
        SchemaRegistryUnavailable, match="schema 8 is not known here, and the schema registry gives no"
    ):
        later.get(8)
    assert away.asked == [7, 8], "once to compare what is kept, once for what is not known"
    assert [path.name for path in lookups.path(7).parent.iterdir()] == ["7.schema"]


def test_an_id_that_cannot_be_asked_for_is_never_an_unknown_one(lookups: Lookups) -> None:
    for error in (AWAY, denied_credentials("http://r", 401)):
        lookup = lookups.of(FakeRegistry({7: [error]}))
        for _ in range(3):
            with pytest.raises(TableError) as caught:
                lookup.get(7)
            assert caught.value.code == error.code


def test_the_ids_of_another_registry_mean_nothing(lookups: Lookups) -> None:
    lookups.of(FakeRegistry({7: [FLIGHT]}), "http://one").get(7)
    registry = FakeRegistry({7: [OTHER]})
    assert lookups.of(registry, "http://two").get(7) == OTHER
    assert registry.asked == [7]
    lookups.path(7, "http://two").write_bytes(lookups.path(7, "http://one").read_bytes())
    assert lookups.of(FakeRegistry({7: [OTHER]}), "http://two").get(7) == OTHER


def test_a_registry_is_the_same_whatever_the_order_of_its_addresses() -> None:
    def identity(url: str, **options: Any) -> str:
        return identity_of(RegistryOptions(url=url, **options))

    assert identity("http://A,http://b:81") == identity("http://b:81/,http://a:80/", token="t")
    assert (
        len(
            {
                identity(url)
                for url in ("http://a", "https://a", "http://a:81", "http://a/x", "http://a,http://b")
            }
        )
        == 5
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data.replace(b"record", b"rekord"),
        lambda data: data + b" ",
        lambda data: data.replace(b"schema 2", b"schema 3"),
    ],
    ids=["cut", "half", "empty", "changed", "longer", "newer"],
)  # fmt: skip
def test_a_damaged_file_is_ignored_and_replaced(
    lookups: Lookups, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    lookups.of(FakeRegistry({7: [FLIGHT]})).get(7)
    whole = lookups.path(7).read_bytes()
    lookups.path(7).write_bytes(damage(whole))
    with pytest.raises(SchemaRegistryUnavailable):
        lookups.of(FakeRegistry({7: [AWAY]})).get(7)
    with caplog.at_level(logging.WARNING):
        assert lookups.of(FakeRegistry({7: [FLIGHT]})).get(7) == FLIGHT
    assert "is damaged" in caplog.text
    assert lookups.path(7).read_bytes() == whole
    (aside,) = [path for path in lookups.path(7).parent.iterdir() if path.name != "7.schema"]
    assert aside.name.endswith(".damaged")
    assert aside.read_bytes() == damage(whole)


def test_a_good_file_of_another_process_stays(lookups: Lookups) -> None:
    first = lookups.kept()
    first.keep(7, FLIGHT)
    lookups.kept().keep(7, OTHER)
    assert lookups.kept().read(7) == FLIGHT
    assert [path.name for path in lookups.path(7).parent.iterdir()] == ["7.schema"]


def test_a_storage_that_fails_costs_only_the_keeping(
    lookups: Lookups, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(LocalFileSystem):
        def read(self, path: str) -> bytes:
            raise Unavailable(path)

        def mkdirs(self, path: str) -> None:
            raise Denied(path)

    lookups.files = Failing()
    with caplog.at_level(logging.WARNING):
        assert lookups.of(FakeRegistry({7: [FLIGHT]})).get(7) == FLIGHT
    assert len(caplog.records) == 2


def test_a_process_that_only_looks_reads_what_is_kept_and_writes_nothing(lookups: Lookups) -> None:
    assert lookups.of(FakeRegistry({7: [FLIGHT]}), keeps=False).get(7) == FLIGHT
    assert not lookups.path(7).parent.exists()
    lookups.kept().keep(7, OTHER)
    assert lookups.of(FakeRegistry({7: [AWAY]}), keeps=False).get(7) == OTHER


def _record(*fields: str, **more: Any) -> WriterSchema:
    written = [{"name": name, "type": "long", "doc": f"The {name}."} for name in fields]
    return WriterSchema("AVRO", json.dumps({"type": "record", "name": "F", "fields": written, **more}))


SWAPPED = _record("b", "a")


def test_an_id_that_means_another_schema_in_a_registry_set_up_anew_is_refused_with_both(
    lookups: Lookups,
) -> None:
    lookups.of(FakeRegistry({7: [_record("a", "b")]})).get(7)
    for keeps in (True, False):
        registry = FakeRegistry({7: [SWAPPED]})
        lookup = lookups.of(registry, keeps=keeps)
        for _ in range(2):
            with pytest.raises(TableError) as caught:
                lookup.get(7)
            assert caught.value.code == "registry.changed"
            assert "schema id 7 of the schema registry http://r" in caught.value.message
            assert caught.value.message.count("sha256:") == 2
            assert caught.value.message.index('"a"') < caught.value.message.index('"b"')
            assert str(lookups.path(7)) in caught.value.remedy
        assert registry.asked == [7, 7]


def test_what_an_operator_decides_counts_at_the_next_try(lookups: Lookups) -> None:
    first = _record("a", "b")
    lookups.of(FakeRegistry({7: [first]})).get(7)
    registry = FakeRegistry({7: [SWAPPED]})
    lookup = lookups.of(registry)
    with pytest.raises(TableError):
        lookup.get(7)
    registry.schemas[7] = [first]  # the registry has its earlier ids back
    assert lookup.get(7) == first
    registry.schemas[7] = [SWAPPED]
    lookups.clock.sleep(COMPARE_SECONDS)
    with pytest.raises(TableError):
        lookup.get(7)
    lookups.path(7).rename(lookups.path(7).with_name("7.schema.old"))  # the present one is right
    assert lookup.get(7) == SWAPPED
    assert lookups.kept().read(7) == SWAPPED


def test_a_schema_whose_text_is_only_formatted_otherwise_is_the_same(lookups: Lookups) -> None:
    first = _record("a", "b")
    lookups.of(FakeRegistry({7: [first]})).get(7)
    again = WriterSchema("AVRO", json.dumps(json.loads(first.text) | {"doc": "moved"}, indent=2))
    registry = FakeRegistry({7: [again]})
    lookup = lookups.of(registry)
    assert [lookup.get(7), lookup.get(7)] == [first, first]
    assert registry.asked == [7], "once"
    lookups.clock.sleep(COMPARE_SECONDS)
    assert lookup.get(7) == first
    assert registry.asked == [7, 7]


@pytest.mark.parametrize(
    ("kept", "now"),
    [
        (WriterSchema("AVRO", '"long"'), WriterSchema("JSON", '"long"')),
        (WriterSchema("AVRO", '"x.E"', (SchemaReference("x.E", '{"type": "enum", "name": "x.E", "symbols": ["A", "B"]}'),)),
         WriterSchema("AVRO", '"x.E"', (SchemaReference("x.E", '{"type": "enum", "name": "x.E", "symbols": ["B", "A"]}'),))),
        (WriterSchema("AVRO", '{"type": "long", "logicalType": "timestamp-millis"}'),
         WriterSchema("AVRO", '{"type": "long", "logicalType": "timestamp-micros"}')),
        (WriterSchema("PROTOBUF", 'syntax = "proto3"; message M { int32 a = 1; int32 b = 2; }'),
         WriterSchema("PROTOBUF", 'syntax = "proto3"; message M { int32 a = 2; int32 b = 1; }')),
    ],
    ids=["kind", "reference", "logical", "protobuf"],
)  # fmt: skip
def test_whatever_changes_a_value_is_a_change(
    lookups: Lookups, kept: WriterSchema, now: WriterSchema
) -> None:
    lookups.of(FakeRegistry({7: [kept]})).get(7)
    with pytest.raises(TableError, match="differs from the schema that was used before"):
        lookups.of(FakeRegistry({7: [now]})).get(7)


def test_protobuf_that_is_formatted_otherwise_is_the_same(lookups: Lookups) -> None:
    kept = WriterSchema("PROTOBUF", 'syntax = "proto3"; message M { int32 a = 1; }')
    now = WriterSchema("PROTOBUF", 'syntax = "proto3";\n\n// moved\nmessage M {\n  int32 a = 1;\n}\n')
    lookups.of(FakeRegistry({7: [kept]})).get(7)
    assert lookups.of(FakeRegistry({7: [now]})).get(7) == kept


def test_a_schema_that_the_registry_lost_is_compared_once_it_is_registered_again(lookups: Lookups) -> None:
    first = _record("a", "b")
    lookups.of(FakeRegistry({7: [first]})).get(7)
    registry = FakeRegistry({7: [None, SWAPPED]})
    lookup = lookups.of(registry)
    assert [lookup.get(7), lookup.get(7)] == [first, first]
    assert registry.asked == [7]
    lookups.clock.sleep(UNKNOWN_SECONDS)
    with pytest.raises(TableError, match="id 7"):
        lookup.get(7)


def test_a_registry_that_is_away_is_asked_for_one_comparison_and_not_for_each(lookups: Lookups) -> None:
    for number in range(5):
        lookups.kept().keep(number, FLIGHT)
    registry = FakeRegistry({number: [AWAY] for number in range(5)})
    lookup = lookups.of(registry)
    assert [lookup.get(number) for number in range(5)] == [FLIGHT] * 5
    assert registry.asked == [0]
    lookups.clock.sleep(60)
    registry.schemas = {number: [OTHER] for number in range(5)}
    with pytest.raises(TableError, match="id 3"):
        lookup.get(3)


def test_a_process_that_was_told_otherwise_than_the_one_that_kept_the_schema_is_refused(
    lookups: Lookups,
) -> None:
    class SlowStorage(LocalFileSystem):
        """The other process keeps its schema just after this one has looked."""

        late = True

        def read(self, path: str) -> bytes:
            if self.late:
                self.late = False
                lookups.kept().keep(7, _record("a", "b"))
                raise NotFound(path)
            return super().read(path)

    lookups.files = SlowStorage()
    with pytest.raises(TableError) as caught:
        lookups.of(FakeRegistry({7: [SWAPPED]})).get(7)
    assert caught.value.code == "registry.changed"


def test_an_unknown_id_is_asked_for_twice_and_then_again_after_a_minute(lookups: Lookups) -> None:
    reads = []

    class Counting(LocalFileSystem):
        def read(self, path: str) -> bytes:
            reads.append(path)
            return super().read(path)

    lookups.files = Counting()
    registry = FakeRegistry()
    lookup = lookups.of(registry)
    assert [lookup.get(7), lookup.get(7)] == [None, None]
    assert len(reads) == 1
    assert (registry.asked, lookups.clock.waits) == ([7, 7], [CONFIRM_SECONDS])
    registry.schemas[7] = [FLIGHT]
    lookups.clock.sleep(UNKNOWN_SECONDS)
    assert lookup.get(7) == FLIGHT


def test_a_schema_that_its_replica_has_a_moment_later_is_no_unknown_id(lookups: Lookups) -> None:
    assert lookups.of(FakeRegistry({7: [None, FLIGHT]})).get(7) == FLIGHT


def test_ids_without_end_set_the_table_aside_instead_of_asking_for_ever(lookups: Lookups) -> None:
    registry = FakeRegistry({1: [FLIGHT]})
    lookup = lookups.of(registry)
    lookup.get(1)
    assert [lookup.get(number) for number in range(1000, 1000 + MOST_UNKNOWN)] == [None] * MOST_UNKNOWN
    assert len(registry.asked) == 1 + MOST_UNKNOWN + MOST_CONFIRMED
    with pytest.raises(TableError) as caught:
        lookup.get(9)
    assert caught.value.code == "registry.unknown_ids"
    assert lookup.get(1) == FLIGHT
    lookups.clock.sleep(UNKNOWN_SECONDS)
    assert lookup.get(9) is None


def test_a_registry_that_is_away_is_not_asked_for_every_table(lookups: Lookups) -> None:
    registry = FakeRegistry({number: [AWAY] for number in range(100)})
    lookup = lookups.of(registry)
    for number in range(100):
        with pytest.raises(SchemaRegistryUnavailable, match=f"schema {number} is not known here, .*refused"):
            lookup.get(number)
    assert registry.asked == [0]
    lookups.clock.sleep(60)
    registry.schemas[3] = [FLIGHT]
    assert lookup.get(3) == FLIGHT


def test_a_schema_is_kept_by_its_guid_too(lookups: Lookups) -> None:
    guid = "89791762-2336-186f-9674-299b90a8e2ee"
    assert lookups.of(FakeRegistry({guid: [FLIGHT]})).get(guid) == FLIGHT
    assert lookups.of(FakeRegistry({guid: [AWAY]})).get(guid) == FLIGHT


def test_the_memory_is_bounded_and_forgets_nothing_for_good(lookups: Lookups) -> None:
    registry = FakeRegistry({number: [FLIGHT] for number in range(MOST_REMEMBERED + 1)})
    lookup = lookups.of(registry, keeps=False)
    for number in range(MOST_REMEMBERED + 1):
        lookup.get(number)
    assert lookup.get(0) == FLIGHT
    assert len(registry.asked) == MOST_REMEMBERED + 2


def test_large_schemas_make_room_for_the_ones_used_last(lookups: Lookups) -> None:
    large = WriterSchema("AVRO", "x" * (MOST_BYTES // 4), (SchemaReference("y", "z" * (MOST_BYTES // 8)),))
    registry = FakeRegistry({number: [large] for number in range(3)})
    lookup = lookups.of(registry, keeps=False)
    for number in (0, 1, 0, 2, 0, 2, 1):
        assert lookup.get(number) is large
    assert registry.asked == [0, 1, 2, 1], "two have room, and 1 was not used for longest"


def test_a_schema_that_is_larger_than_all_may_be_is_remembered_as_long_as_no_other_comes(
    lookups: Lookups,
) -> None:
    huge = WriterSchema("AVRO", "x" * (MOST_BYTES + 1))
    registry = FakeRegistry({1: [huge], 2: [FLIGHT]})
    lookup = lookups.of(registry, keeps=False)
    for number in (2, 1, 1, 2, 2, 1):
        lookup.get(number)
    assert registry.asked == [2, 1, 2, 1]


@pytest.mark.parametrize("schema_id", [7, "89791762-2336-186f-9674-299b90a8e2ee"])
def test_the_text_of_a_kept_schema_round_trips(schema_id: SchemaId) -> None:
    kept = KeptSchema("r", schema_id, WriterSchema("JSON", "ü\n\U0001f600", (SchemaReference("y", "x"),)))
    assert read_kept(write_kept(kept)) == kept
    assert read_kept(b"kafka2hive schema 2 sha256:\n{}") is None

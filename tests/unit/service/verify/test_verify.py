"""`verify` and `where` on ledgers on a local disk: intact ones pass, every damage is named with its place."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import look
from kafka2hive.ledger.snapshot.codec import checksum_of, encode
from kafka2hive.model.offsets import OffsetRange, Position
from kafka2hive.model.paths.table_directory import DataFileName, ledger_tag
from kafka2hive.model.snapshot import AcceptedGap, AcceptedLoss, AddedColumn, ForgottenRegistration, Snapshot
from kafka2hive.service.verify.history import audit_history
from kafka2hive.service.verify.result import VerifyRequest
from kafka2hive.service.verify.verify import verify
from tests.harness.cli_ledger import TABLE, Service, invoke, pending_service


@pytest.fixture
def recovered(tmp_path: Path) -> Service:
    service = pending_service(tmp_path)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    return service


def _findings(service: Service, contents: bool = False) -> tuple[int, set[tuple[str, str]]]:
    """Return exit code and findings of an audit without Kafka and Hive."""
    result = verify(service.wiring, VerifyRequest(contents=contents), None, None)
    (table,) = result.tables
    return int(result.exit_code), {(f.code, f.where) for f in table.findings}


def _history(service: Service) -> list[Snapshot]:
    files = service.wiring.ports.files
    view = look(files, service.wiring.paths(TABLE))
    return list(final_snapshots(files, view.paths, view.directory))[::-1]


def test_a_whole_dump_has_no_findings(recovered: Service) -> None:
    assert _findings(recovered) == (0, set())


def test_what_could_not_be_checked_is_said_and_has_its_exit_code(recovered: Service) -> None:
    result = invoke("verify", "--json", "-c", str(recovered.map))
    (table,) = json.loads(result.stdout)["tables"]
    assert (result.exit_code, table["findings"]) == (69, [])
    assert "Kafka" in table["not_checked"][0]


def test_a_missing_file_is_named(recovered: Service) -> None:
    recovered.final(0).unlink()
    assert _findings(recovered) == (76, {("verify.missing", recovered.files[0].final)})


def test_a_file_of_another_length_is_named(recovered: Service) -> None:
    recovered.final(1).write_bytes(b"short")
    assert _findings(recovered) == (76, {("verify.length", recovered.files[1].final)})


def test_a_changed_byte_is_found_by_reading_back(recovered: Service) -> None:
    code, found = _findings(recovered, contents=True)
    assert code == 76  # the service of this test writes no real checksums
    assert found == {("verify.checksum", file.final) for file in recovered.files}


def test_a_file_that_no_snapshot_names_is_named(recovered: Service) -> None:
    untracked_file = recovered.final(0).with_name(recovered.final(0).name.replace("task_0", "task_7"))
    untracked_file.write_bytes(b"x")
    code, found = _findings(recovered)
    assert (code, {what for what, _ in found}) == (76, {"verify.untracked"})
    assert all(where.endswith(untracked_file.name) for _, where in found)


def test_files_of_others_among_the_ledgers_are_noted_and_no_finding(recovered: Service) -> None:
    def notes() -> tuple[str, ...]:
        result = verify(recovered.wiring, VerifyRequest(), None, None)
        assert int(result.exit_code) == 0
        return result.tables[0].notes

    mine = recovered.final(0)
    for hidden in ("_SUCCESS", ".part-0.parquet.crc"):
        mine.with_name(hidden).write_bytes(b"")
    elsewhere = mine.parent.parent / "dt=1999-12-31"  # no partition of this ledger's
    elsewhere.mkdir()
    (elsewhere / "part-0.parquet").write_bytes(b"x")
    assert notes() == ()
    other_ledger = mine.name.replace(f"-{ledger_tag(_history(recovered)[0].ledger_id)}-", "-00000000-")
    assert other_ledger != mine.name and DataFileName.parse(other_ledger)
    for name in (other_ledger, *(f"part-{number}.parquet" for number in range(6))):
        mine.with_name(name).write_bytes(b"x")
    (told,) = notes()
    assert (
        "7 files in its directories that" in told and told.endswith("and 2 more") and str(mine.parent) in told
    )


def test_a_file_given_up_by_a_person_is_no_finding(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    service.staged(0).unlink()
    lost = service.files[0].final
    assert invoke("recover", "-c", str(service.map)).exit_code == 76
    assert invoke("recover", "--accept-loss", lost, "-c", str(service.map)).exit_code == 0
    assert _findings(service) == (0, set())


def test_a_damaged_snapshot_is_named(recovered: Service) -> None:
    (snapshot,) = recovered.map.parent.rglob("e000002.final")
    snapshot.write_bytes(snapshot.read_bytes().replace(b"flights", b"fligths", 1))
    result = verify(recovered.wiring, VerifyRequest(), None, None)
    ((table, error),) = result.errors
    assert (result.exit_code, table, error.code) == (76, TABLE, "ledger.damaged")
    assert "e000002.final" in error.message


def test_a_hole_an_overlap_and_a_lost_position_are_told_apart(recovered: Service) -> None:
    first, second, third = _history(recovered)[:3]
    (position,) = third.positions

    def codes(changed: Snapshot) -> set[str]:
        return {f.code for f in audit_history([first, second, changed])}

    assert codes(third) == set()
    assert "verify.hole" in codes(replace(third, positions=(replace(position, start=position.start + 1),)))
    assert "verify.overlap" in codes(replace(third, positions=(replace(position, start=position.start - 1),)))
    assert "verify.position" in codes(replace(third, positions=()))


def test_a_jump_is_fine_when_a_person_accepted_it_in_that_epoch(recovered: Service) -> None:
    first, second, third = _history(recovered)[:3]
    (position,) = third.positions
    jumped = replace(position, start=position.end + 90, end=position.end + 90)
    gap = AcceptedGap(
        range=OffsetRange(position.topic_partition, position.end, jumped.end),
        reason="retention",
        accepted_at="2013-01-01T00:00:00Z",
        epoch=3,
    )
    previous = checksum_of(third)
    fourth = replace(
        third, epoch=3, previous=previous, positions=(jumped,), accounts=(), files=(), gaps=(gap,)
    )
    assert audit_history([first, second, third, fourth]) == ()
    late = replace(fourth, gaps=(replace(gap, epoch=2),))
    assert {f.code for f in audit_history([first, second, third, late])} == {
        "verify.hole",
        "verify.decision",
    }


def test_a_missing_epoch_and_rows_that_do_not_add_up_are_found(recovered: Service) -> None:
    first, second, third = _history(recovered)[:3]
    assert "verify.history" in {f.code for f in audit_history([first, third])}
    fewer = replace(third, files=third.files[:1])
    assert {f.code for f in audit_history([first, second, fewer])} == {"verify.rows"}
    unread = replace(third, accounts=())
    assert "verify.account" in {f.code for f in audit_history([first, second, unread])}


def test_where_names_the_files_of_an_offset(recovered: Service) -> None:
    result = invoke("where", "flights-0@7", "--json", "-c", str(recovered.map))
    (table,) = json.loads(result.stdout)["tables"]
    assert (result.exit_code, table["epoch"]) == (0, 2)
    assert {file["path"] for file in table["files"]} <= {file.final for file in recovered.files}
    assert table["files"]


@pytest.mark.parametrize(
    ("place", "answer"), [("flights-0@4", "began later"), ("flights-0@15", "not read yet")]
)
def test_where_says_why_an_offset_is_nowhere(recovered: Service, place: str, answer: str) -> None:
    result = invoke("where", place, "-c", str(recovered.map))
    assert result.exit_code == 0
    assert answer in result.output


def test_where_refuses_what_is_no_place(recovered: Service) -> None:
    assert invoke("where", "flights", "-c", str(recovered.map)).exit_code == 2


def _audited(recovered: Service, **changes: object) -> set[str]:
    """Return the codes of the findings if the newest of three snapshots is changed like this."""
    first, second, third = _history(recovered)[:3]
    return {f.code for f in audit_history([first, second, replace(third, **changes)])}  # type: ignore[arg-type]


def test_a_snapshot_that_contradicts_the_one_before_it_is_found(recovered: Service) -> None:
    third = _history(recovered)[2]
    (position,) = third.positions
    gap = AcceptedGap(
        range=OffsetRange(position.topic_partition, 0, 5),
        reason="retention",
        accepted_at="2013-01-01T00:00:00Z",
        epoch=1,
    )
    assert _audited(recovered) == set()
    assert _audited(recovered, table="air.fligths") >= {"verify.header"}
    for what in ("owner", "service"):
        assert _audited(recovered, **{what: "another"}) == {"verify.header"}
    assert _audited(recovered, positions=(replace(position, topic_id="x"),)) == set()  # unknown before
    assert _audited(recovered, gaps=(gap,)) == {"verify.decision"}
    assert _audited(
        recovered, losses=(AcceptedLoss(path="a", remedy="accept-loss", rows=1, accepted_at="", epoch=1),)
    ) == {"verify.decision"}
    assert _audited(recovered, unregistered=()) == {"verify.registrations"}
    given_up = tuple(
        ForgottenRegistration(
            partition=partition, reason="denied", accepted_by="me", accepted_at="", epoch=third.epoch
        )
        for partition in third.unregistered
    )
    assert _audited(recovered, unregistered=(), forgotten=given_up) == set()
    early = tuple(replace(f, epoch=1) for f in given_up)
    assert _audited(recovered, unregistered=(), forgotten=early) == {"verify.decision"}
    column = AddedColumn(name="x", type="int", schema="id 1", added_at="", epoch=third.epoch)
    assert _audited(recovered, added=(column,)) == set()
    assert _audited(recovered, added=(replace(column, epoch=1),)) == {"verify.decision"}
    strange = replace(third.unregistered[0], path="dt=2014-01-01")
    assert _audited(recovered, unregistered=(*third.unregistered, strange)) == {"verify.registrations"}
    assert _audited(recovered, unregistered=third.unregistered * 2) == {"verify.registrations"}
    assert _audited(recovered, previous="sha256:" + "0" * 64) == {"verify.chain"}


def test_an_edit_of_a_snapshot_is_told_by_the_one_after_it_whatever_was_edited(recovered: Service) -> None:
    """Each edit has a correct checksum, and no other text contradicts it."""
    first, second, third = _history(recovered)[:3]
    for what, value in {
        "written_at": "2013-01-01T00:00:59Z",
        "owner": "etl1-1-" + "0" * 32,
        "newest_ms": 7,
        "start": "latest",
    }.items():
        edited = replace(second, **{what: value})  # type: ignore[arg-type]
        assert "verify.chain" in {f.code for f in audit_history([first, edited, third])}
    assert {f.code for f in audit_history([first, replace(second, written_at="x"), third])} == {
        "verify.chain"
    }


def test_a_debt_is_followed_from_snapshot_to_snapshot(recovered: Service) -> None:
    third = _history(recovered)[2]
    (partition,) = third.unregistered
    none = replace(
        third, epoch=3, previous=checksum_of(third), positions=_unread(third), accounts=(), files=()
    )

    def codes(**changes: object) -> set[str]:
        return {f.code for f in audit_history([third, replace(none, **changes)])} - {"verify.history"}  # type: ignore[arg-type]

    assert codes() == set()
    assert codes(unregistered=(), registered=(partition,)) == set()
    assert codes(unregistered=()) == {
        "verify.registrations"
    }  # taken out by hand: nobody says that Hive has it
    assert codes(registered=(partition,)) == {"verify.registrations"}  # registered, and still owed
    assert codes(unregistered=(), registered=(partition, partition)) == {"verify.registrations"}
    assert codes(registered=(replace(partition, path="dt=1999-01-01"),)) == {"verify.registrations"}


def _unread(state: Snapshot) -> tuple[Position, ...]:
    return tuple(replace(p, start=p.end) for p in state.positions)


def test_a_file_line_that_contradicts_its_own_name_is_found(recovered: Service) -> None:
    files = _history(recovered)[2].files
    elsewhere = replace(files[0].hive_partition, location=files[0].hive_partition.location + "x")
    offsets = replace(files[0].ranges[0], end=files[0].ranges[0].end + 1)
    for changed in (
        replace(files[0], task=7),
        replace(files[0], staged=files[1].staged),
        replace(files[0], hive_partition=elsewhere),
        replace(files[0], ranges=(offsets,)),
        replace(files[0], ranges=files[0].ranges * 2),
    ):
        assert "verify.file" in _audited(recovered, files=(changed, files[1]))
    assert "verify.file" in _audited(recovered, files=(files[0], files[0]))
    accounts = _history(recovered)[2].accounts
    assert "verify.file" in _audited(recovered, accounts=tuple(replace(a, task=7) for a in accounts))


def test_a_snapshot_under_another_number_is_named(recovered: Service) -> None:
    (snapshot,) = recovered.map.parent.rglob("e000002.final")
    snapshot.rename(snapshot.with_name("e000003.final"))
    ((_, error),) = verify(recovered.wiring, VerifyRequest(), None, None).errors
    assert error.code == "ledger.impossible" and "e000003.final" in error.message


def test_two_snapshots_of_one_epoch_are_fine_only_when_they_are_the_same(recovered: Service) -> None:
    (snapshot,) = recovered.map.parent.rglob("e000001.final")
    archive = recovered.map.parent / "kafka2hive/archive" / TABLE / "20130101T000000Z"
    archive.mkdir(parents=True)
    copy = archive / "e000001.final"
    copy.write_bytes(snapshot.read_bytes())
    assert _findings(recovered) == (0, set())
    other = replace(_history(recovered)[1], written_at="2013-01-02T00:00:00Z")
    copy.write_bytes(encode(other))
    ((_, error),) = verify(recovered.wiring, VerifyRequest(), None, None).errors
    assert error.code == "ledger.impossible" and str(copy) in error.message


def test_files_of_an_epoch_whose_snapshot_is_gone_are_named(recovered: Service) -> None:
    (snapshot,) = recovered.map.parent.rglob("e000002.final")
    snapshot.unlink()
    code, found = _findings(recovered)
    assert code == 76 and {("verify.untracked", file.final) for file in recovered.files} <= found


def test_a_copy_in_a_partition_that_has_no_other_file_is_named(recovered: Service) -> None:
    untracked_file = recovered.final(0).parent.with_name("dt=2015-05-05") / recovered.final(0).name
    untracked_file.parent.mkdir()
    untracked_file.write_bytes(recovered.final(0).read_bytes())
    assert _findings(recovered) == (76, {("verify.untracked", f"file://{untracked_file}")})


def test_a_marker_that_is_gone_or_anothers_is_named(recovered: Service) -> None:
    (marker,) = recovered.map.parent.rglob("_kafka2hive_owner")
    for text in (None, b'{"ledger": "another"}', b"{"):
        marker.unlink()
        if text is not None:
            marker.write_bytes(text)
        assert _findings(recovered) == (76, {("verify.marker", f"file://{marker}")})
        marker.touch()


def test_a_ledger_that_is_gone_as_a_whole_is_named(recovered: Service) -> None:
    (ledger,) = recovered.map.parent.rglob("kafka_partition_offsets")
    ledger.rename(ledger.with_name("elsewhere"))
    result = verify(recovered.wiring, VerifyRequest(), None, None)
    ((table, error),) = result.errors
    assert (result.exit_code, table, error.code) == (76, TABLE, "ledger.vanished")


def test_the_files_of_a_pending_epoch_are_looked_at_where_they_are(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    assert _findings(service) == (0, set())
    code, found = _findings(service, contents=True)
    assert code == 76 and found == {("verify.checksum", file.staged) for file in service.files}
    service.final(1).parent.mkdir(parents=True)
    service.staged(1).rename(service.final(1))
    assert _findings(service) == (0, set())
    service.staged(0).write_bytes(b"short")
    assert _findings(service) == (76, {("verify.length", service.files[0].staged)})
    service.staged(0).unlink()
    assert _findings(service) == (76, {("verify.missing", service.files[0].final)})

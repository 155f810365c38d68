"""Where a table resumes in Kafka: properties of any state, and the surprises one by one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka.port import ClusterView, TopicView, Watermark
from kafka2hive.kafka.positions import (
    Decision,
    GapAcceptance,
    Halt,
    Logs,
    PositionsToCommit,
    Resume,
    TableIntent,
    decide,
)
from kafka2hive.kafka.problems import stop
from kafka2hive.model.errors import ConfigError, ExitCode
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import Snapshot
from tests.harness.values import snapshot

EARLIEST = StartPolicy(StartKind.EARLIEST)
LATEST = StartPolicy(StartKind.LATEST)


def _table(*positions: Position, cluster_id: str = "c") -> Snapshot:
    return snapshot(
        ledger_id="ledger",
        service="service",
        table="db.t",
        written_at="2026-01-01T00:00:00Z",
        cluster_id=cluster_id,
        positions=positions,
    )


def _logs(
    ends: dict[str, dict[int, tuple[int, int]]], ids: dict[str, str] | None = None, cluster_id: str = "c"
) -> Logs:
    """Build logs. `ends`: topic -> number -> (earliest, latest); the id of a topic is `id` unless `ids` has another."""
    topics = {
        name: TopicView(name, (ids or {}).get(name, "id"), tuple(sorted(found)))
        for name, found in ends.items()
    }
    marks = {TopicPartition(name, n): end for name, found in ends.items() for n, end in found.items()}
    return Logs(
        ClusterView(cluster_id, topics),
        {tp: Watermark(earliest) for tp, (earliest, _) in marks.items()},
        {tp: Watermark(latest) for tp, (_, latest) in marks.items()},
    )


def _at(topic: str, number: int, offset: int, topic_id: str = "id", epoch: int = -1) -> Position:
    return Position(TopicPartition(topic, number), 0, offset, topic_id, epoch)


def _committed(state: Snapshot, decision: PositionsToCommit) -> Snapshot:
    """Return the state after the first positions are committed."""
    positions = {p.topic_partition: p for p in state.positions} | {
        p.topic_partition: p for p in decision.positions
    }
    return replace(state, positions=tuple(positions.values()), epoch=state.epoch + 1)


def _only_problem(decision: Decision) -> str:
    assert isinstance(decision, Halt)
    (problem,) = decision.problems
    return problem.code


_log = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda p: (p[0], p[0] + p[1]))
_topics = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.dictionaries(st.integers(0, 3), _log, min_size=1), max_size=3
)
_positions = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b", "c", "gone"]), st.integers(0, 4)), st.integers(0, 120), max_size=8
).map(lambda found: tuple(_at(topic, number, end) for (topic, number), end in found.items()))
_policies = st.sampled_from([EARLIEST, LATEST])


@given(_topics, _positions, _policies, st.booleans(), st.sampled_from(["id", "other", "-"]))
def test_what_a_person_accepts_once_is_resumed_from_then_on(
    ends: dict[str, dict[int, tuple[int, int]]],
    positions: tuple[Position, ...],
    policy: StartPolicy,
    by_pattern: bool,
    topic_id: str,
) -> None:
    state, logs = _table(*positions), _logs(ends, dict.fromkeys(ends, topic_id))
    everything = tuple(GapAcceptance(topic) for topic in ("a", "b", "c"))
    intent = TableIntent(("a", "b", "c"), policy, by_pattern, acceptances=everything)
    decision = decide(state, logs, intent)
    assert not isinstance(decision, Halt)
    if isinstance(decision, PositionsToCommit):
        state = _committed(state, decision)
        decision = decide(state, logs, replace(intent, acceptances=()))
    assert isinstance(decision, Resume)
    assert {r.topic_partition for r in decision.ranges} == set(logs.latest)
    for found in decision.ranges:
        position = state.position(found.topic_partition)
        assert position is not None and found.start == position.end
        assert found.end == logs.latest[found.topic_partition].offset
        assert found.start >= logs.earliest[found.topic_partition].offset


@given(_topics, _positions, _policies)
def test_no_offset_is_passed_over_in_silence(
    ends: dict[str, dict[int, tuple[int, int]]], positions: tuple[Position, ...], policy: StartPolicy
) -> None:
    state, logs = _table(*positions), _logs(ends)
    decision = decide(state, logs, TableIntent(("a", "b", "c"), policy))
    known = {p.topic_partition.topic for p in positions}
    expected = set()
    for tp, earliest in logs.earliest.items():
        position = state.position(tp)
        at = position.end if position else 0
        if tp.topic in known and at < earliest.offset:
            expected.add(OffsetRange(tp, at, earliest.offset))
    lost = {p.range for p in getattr(decision, "problems", ()) if p.code == "kafka.offsets_lost"}
    assert lost == expected
    for problem in getattr(decision, "problems", ()):
        assert problem.range is not None
        assert str(problem.range.topic_partition) in problem.message
        assert str(problem.range.start) in problem.message and str(problem.range.end) in problem.message
        assert (
            f"recover --accept-gap {problem.topic}:{problem.range.topic_partition.number}" in problem.remedy
        )


@given(_topics, _positions, _policies, st.data())
def test_a_new_topic_gets_positions_for_all_its_partitions_or_for_none(
    ends: dict[str, dict[int, tuple[int, int]]],
    positions: tuple[Position, ...],
    policy: StartPolicy,
    data: st.DataObject,
) -> None:
    logs = _logs(ends)
    silent = data.draw(st.sets(st.sampled_from(sorted(logs.latest)))) if logs.latest else set()
    answered = {tp: mark for tp, mark in logs.latest.items() if tp not in silent}
    decision = decide(
        _table(*positions), replace(logs, latest=answered), TableIntent(("a", "b", "c"), policy)
    )
    known = {p.topic_partition.topic for p in positions}
    first = {p.topic_partition for p in getattr(decision, "positions", ())}
    for topic in set(ends) - known:
        of_topic = {tp for tp in logs.latest if tp.topic == topic}
        assert first & of_topic in (set(), of_topic)
        if of_topic & silent:
            assert not first & of_topic


def test_a_first_start_takes_the_policys_positions() -> None:
    logs = _logs({"a": {0: (5, 9), 1: (0, 0)}})
    first = decide(_table(), logs, TableIntent(("a",), LATEST))
    assert isinstance(first, PositionsToCommit)
    assert [(p.topic_partition.number, p.start, p.end, p.topic_id) for p in first.positions] == [
        (0, 9, 9, "id"),
        (1, 0, 0, "id"),
    ]
    first = decide(_table(), logs, TableIntent(("a",), EARLIEST))
    assert isinstance(first, PositionsToCommit)
    assert [p.end for p in first.positions] == [5, 0]


def test_a_start_by_time_falls_to_the_logs_end_where_nothing_is_that_new() -> None:
    logs = _logs({"a": {0: (0, 9), 1: (0, 4)}})
    at_start = {TopicPartition("a", 0): Watermark(7), TopicPartition("a", 1): Watermark(-1)}
    policy = StartPolicy(StartKind.TIMESTAMP, timestamp_ms=1)
    first = decide(_table(), replace(logs, at_start=at_start), TableIntent(("a",), policy))
    assert isinstance(first, PositionsToCommit)
    assert [p.end for p in first.positions] == [7, 4]
    del at_start[TopicPartition("a", 1)]
    waiting = decide(_table(), replace(logs, at_start=at_start), TableIntent(("a",), policy))
    assert isinstance(waiting, Resume) and waiting.ranges == () and "not read yet" in waiting.warnings[0]


def test_a_start_by_time_whose_first_record_came_after_the_look_at_the_end_begins_at_that_end() -> None:
    logs = _logs({"a": {0: (0, 9)}})
    policy = StartPolicy(StartKind.TIMESTAMP, timestamp_ms=1)
    logs = replace(logs, at_start={TopicPartition("a", 0): Watermark(11)})
    first = decide(_table(), logs, TableIntent(("a",), policy))
    assert isinstance(first, PositionsToCommit)
    assert [p.end for p in first.positions] == [9]


def test_explicit_offsets_must_be_there_for_every_partition_and_lie_in_the_log() -> None:
    logs = _logs({"a": {0: (5, 9), 1: (5, 9), 2: (5, 9)}})
    policy = StartPolicy(StartKind.OFFSETS, offsets=(("a", 0, 6), ("a", 1, 10)))
    decision = decide(_table(), logs, TableIntent(("a",), policy))
    assert isinstance(decision, Halt)
    assert [p.code for p in decision.problems] == ["kafka.start_offset_outside", "kafka.start_offset_missing"]
    assert "[5, 9)" in decision.problems[0].message and "a-2" in decision.problems[1].message


def test_a_partition_that_appears_later_begins_at_zero() -> None:
    decision = decide(
        _table(_at("a", 0, 3)), _logs({"a": {0: (0, 3), 1: (0, 8)}}), TableIntent(("a",), LATEST)
    )
    assert isinstance(decision, PositionsToCommit)
    assert [(p.topic_partition.number, p.end) for p in decision.positions] == [(1, 0)]


def test_a_partition_that_appears_later_without_its_beginning_is_a_gap() -> None:
    decision = decide(
        _table(_at("a", 0, 3)), _logs({"a": {0: (0, 3), 1: (4, 8)}}), TableIntent(("a",), LATEST)
    )
    assert _only_problem(decision) == "kafka.offsets_lost"
    assert isinstance(decision, Halt)
    assert decision.problems[0].range == OffsetRange(TopicPartition("a", 1), 0, 4)


def test_a_topic_that_newly_matches_the_pattern_begins_at_its_earliest() -> None:
    logs = _logs({"a": {0: (0, 3)}, "b": {0: (4, 8)}})
    decision = decide(_table(_at("a", 0, 3)), logs, TableIntent(("a", "b"), LATEST, by_pattern=True))
    assert isinstance(decision, PositionsToCommit)
    assert [(str(p.topic_partition), p.end) for p in decision.positions] == [("b-0", 4)]


def test_a_topic_made_while_the_service_runs_is_read_from_its_beginning_whatever_the_policy() -> None:
    decision = decide(_table(), _logs({"a": {0: (0, 3)}}), TableIntent(("a",), LATEST, created_later=("a",)))
    assert isinstance(decision, PositionsToCommit) and decision.positions[0].end == 0


def test_a_topic_added_to_the_list_begins_by_the_policy() -> None:
    logs = _logs({"a": {0: (0, 3)}, "b": {0: (4, 8)}})
    decision = decide(_table(_at("a", 0, 3)), logs, TableIntent(("a", "b"), LATEST))
    assert isinstance(decision, PositionsToCommit)
    assert [(str(p.topic_partition), p.end) for p in decision.positions] == [("b-0", 8)]


def test_a_recreated_topic_stops_with_both_ids_and_begins_anew_when_accepted() -> None:
    state = _table(_at("a", 0, 7, "old"), _at("a", 5, 2, "old"))
    logs = _logs({"a": {0: (0, 3), 1: (2, 2)}}, {"a": "new"})
    decision = decide(state, logs, TableIntent(("a",), LATEST))
    assert _only_problem(decision) == "kafka.topic_recreated"
    assert isinstance(decision, Halt)
    assert "old" in decision.problems[0].message and "new" in decision.problems[0].message
    one = TableIntent(("a",), LATEST, acceptances=(GapAcceptance("a", 0),))
    assert isinstance(decide(state, logs, one), Halt), "all partitions or none"
    accepted = decide(state, logs, TableIntent(("a",), LATEST, acceptances=(GapAcceptance("a"),)))
    assert isinstance(accepted, PositionsToCommit)
    assert [(p.topic_partition.number, p.end, p.topic_id) for p in accepted.positions] == [
        (0, 0, "new"),
        (1, 2, "new"),
        (5, 0, "new"),
    ]
    assert {g.range.topic_partition.number for g in accepted.gaps} == {0, 5}


@pytest.mark.parametrize("ids", [("-", "new"), ("old", "-")])
def test_an_unknown_topic_id_says_nothing(ids: tuple[str, str]) -> None:
    decision = decide(
        _table(_at("a", 0, 1, ids[0])), _logs({"a": {0: (0, 3)}}, {"a": ids[1]}), TableIntent(("a",), LATEST)
    )
    assert decision == Resume((OffsetRange(TopicPartition("a", 0), 1, 3),))


def test_another_cluster_stops_the_table() -> None:
    decision = decide(
        _table(_at("a", 0, 1)), _logs({"a": {0: (0, 3)}}, cluster_id="d"), TableIntent(("a",), LATEST)
    )
    assert _only_problem(decision) == "kafka.cluster_changed"


def test_a_log_that_ends_before_the_position_stops_and_resumes_at_its_end_when_accepted() -> None:
    state, logs = _table(_at("a", 0, 9)), _logs({"a": {0: (0, 6)}})
    decision = decide(state, logs, TableIntent(("a",), LATEST))
    assert _only_problem(decision) == "kafka.log_truncated"
    assert isinstance(decision, Halt)
    assert decision.problems[0].range == OffsetRange(TopicPartition("a", 0), 6, 9)
    accepted = decide(state, logs, TableIntent(("a",), LATEST, acceptances=(GapAcceptance("a", 0),)))
    assert isinstance(accepted, PositionsToCommit)
    assert accepted.positions[0].end == 6 and "[6, 9)" in accepted.gaps[0].reason


def test_an_acceptance_up_to_an_offset_does_not_cover_a_gap_that_has_grown() -> None:
    state = _table(_at("a", 0, 2))
    intent = TableIntent(("a",), LATEST, acceptances=(GapAcceptance("a", 0, 5),))
    fits = decide(state, _logs({"a": {0: (5, 9)}}), intent)
    assert isinstance(fits, PositionsToCommit)
    assert fits.gaps[0].range == OffsetRange(TopicPartition("a", 0), 2, 5)
    assert _only_problem(decide(state, _logs({"a": {0: (6, 9)}}), intent)) == "kafka.offsets_lost"


@pytest.mark.parametrize(("now", "log_epoch"), [(4, 4), (2, 4), (3, 2)])
def test_a_log_written_anew_below_the_position_stops(now: int, log_epoch: int) -> None:
    tp = TopicPartition("a", 0)
    logs = _logs({"a": {0: (0, 9)}})
    logs = replace(logs, latest={tp: Watermark(9, log_epoch)}, last_read={tp: now})
    state = _table(_at("a", 0, 9, epoch=3))
    decision = decide(state, logs, TableIntent(("a",), LATEST))
    assert _only_problem(decision) == "kafka.log_rewritten"
    accepted = decide(state, logs, TableIntent(("a",), LATEST, acceptances=(GapAcceptance("a", 0),)))
    assert isinstance(accepted, PositionsToCommit)
    assert isinstance(decide(_committed(state, accepted), logs, TableIntent(("a",), LATEST)), Resume)


def test_a_newer_leader_alone_is_no_reason_to_stop() -> None:
    tp = TopicPartition("a", 0)
    logs = replace(_logs({"a": {0: (0, 9)}}), latest={tp: Watermark(9, 7)}, last_read={tp: 3})
    assert isinstance(decide(_table(_at("a", 0, 5, epoch=3)), logs, TableIntent(("a",), LATEST)), Resume)


def test_what_vanished_keeps_its_position_and_is_only_warned_about() -> None:
    state = _table(_at("a", 0, 3), _at("a", 1, 4), _at("gone", 0, 5))
    decision = decide(state, _logs({"a": {0: (0, 3)}}), TableIntent(("a", "gone"), LATEST))
    assert isinstance(decision, Resume)
    assert [str(r.topic_partition) for r in decision.ranges] == ["a-0"]
    assert any("a-1" in w and "4" in w for w in decision.warnings) and any(
        "gone" in w for w in decision.warnings
    )


def test_a_stop_names_the_table_every_problem_and_the_way_on() -> None:
    decision = decide(
        _table(_at("a", 0, 1), _at("b", 0, 9)),
        _logs({"a": {0: (2, 3)}, "b": {0: (0, 3)}}),
        TableIntent(("a", "b"), LATEST),
    )
    assert isinstance(decision, Halt)
    error = stop("db.t", decision.problems)
    assert error.exit_code is ExitCode.STOP and error.code == "kafka.offsets_lost"
    assert "db.t" in str(error) and "[1, 2)" in str(error) and "[3, 9)" in str(error)
    assert "kafka2hive recover --table db.t --accept-gap a:0" in str(error), (
        "others may be owned by a live run"
    )
    assert "--table db.t --accept-gap b:0" in str(error)


@given(
    st.from_regex(r"[A-Za-z0-9._-]+", fullmatch=True),
    st.none() | st.integers(0, 999),
    st.none() | st.integers(0),
)
def test_an_acceptance_is_read_back_from_its_text(topic: str, number: int | None, up_to: int | None) -> None:
    acceptance = GapAcceptance(topic, number, up_to)
    assert GapAcceptance.parse(str(acceptance)) == acceptance


@pytest.mark.parametrize("text", ["", "a", "a:", "a:x", ":0", "a:0:", "a:-1", "a:0:1:2", "a b:0"])
def test_what_is_no_gap_is_refused_with_the_grammar(text: str) -> None:
    with pytest.raises(ConfigError, match="TOPIC:PARTITION"):
        GapAcceptance.parse(text)

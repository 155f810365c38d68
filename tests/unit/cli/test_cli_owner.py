"""Commands while a run is alive: `recover` is refused and changes nothing, unless --takeover is given; orders wait."""

from pathlib import Path

import pytest

from kafka2hive.ledger.inbox import Inbox, PauseTable
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.service.orders.delivery import give_order
from tests.harness.beating import beating_owner
from tests.harness.cli_ledger import TABLE, invoke, pending_service, tree


def test_a_live_owner_is_left_alone_until_takeover_is_given(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    with beating_owner(service.map, TABLE):
        before = without_beats(tmp_path)
        refused = invoke("recover", "-c", str(service.map))
        assert refused.exit_code == 72, refused.output
        assert "owned by a live run" in refused.stdout and "--takeover" in refused.stdout
        assert without_beats(tmp_path) == before
        assert invoke("recover", "--plan", "-c", str(service.map)).exit_code == 69, "no Kafka to ask"
        taken = invoke("recover", "--takeover", "-c", str(service.map))
        assert taken.exit_code == 0, taken.output
        assert "2 renamed" in taken.stdout


def test_an_owner_that_was_killed_is_no_owner(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    with beating_owner(service.map, TABLE) as owner:
        owner.kill()
        owner.wait()
        result = invoke("recover", "-c", str(service.map))
        assert result.exit_code == 0, result.output


def test_an_order_that_a_live_owner_does_not_answer_in_time_waits_in_the_inbox(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    with beating_owner(service.map, TABLE), pytest.raises(ServiceUnavailable) as unanswered:
        give_order(service.wiring, TABLE, PauseTable(), seconds=0.1)
    assert unanswered.value.code == "order.unanswered" and unanswered.value.exit_code == 69
    assert "owned by a live run" in unanswered.value.message
    root, name = service.wiring.map.storage.ledger_root, service.wiring.map.service
    (waiting,) = Inbox(service.wiring.ports, root, name).look()[0]
    assert f"{waiting.id}.json" in unanswered.value.remedy


def test_ctrl_c_while_an_order_waits_says_that_it_stays(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        if text.startswith("waiting"):
            raise KeyboardInterrupt

    with beating_owner(service.map, TABLE), pytest.raises(KeyboardInterrupt):
        give_order(service.wiring, TABLE, PauseTable(), note=note)
    root, name = service.wiring.map.storage.ledger_root, service.wiring.map.service
    (waiting,) = Inbox(service.wiring.ports, root, name).look()[0]
    assert "the order stays in" in notes[-1] and f"{waiting.id}.json" in notes[-1]


def without_beats(folder: Path) -> set[str]:
    return {path for path in tree(folder) if "/alive" not in path}

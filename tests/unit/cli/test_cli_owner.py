"""`recover` while a run is alive is refused and changes nothing, unless --takeover is given."""

from pathlib import Path

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


def without_beats(folder: Path) -> set[str]:
    return {path for path in tree(folder) if "/alive" not in path}

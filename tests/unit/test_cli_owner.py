"""`recover` beside a run that is alive: refused without a trace, unless a person says otherwise."""

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.harness.cli_ledger import TABLE, invoke, pending_service, tree

# A process that owns the table as a run does: it takes over and beats until its standard input ends.
OWNER = """
import select, sys
from kafka2hive.config.load import load_map
from kafka2hive.ledger.reading.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from kafka2hive.ledger.take_over import take_over
from kafka2hive.service.shared.wiring import wire

wiring = wire(load_map(sys.argv[1], {}))
owner = wiring.new_owner()
take_over(wiring.ports, wiring.paths(sys.argv[2]), owner, None)
beat = Heartbeat(wiring.ports, wiring.map.storage.ledger_root, wiring.map.service, owner, wiring.processes.me())
beat.send()
print("beating", flush=True)
while not select.select([sys.stdin], [], [], HEARTBEAT_SECONDS / 4)[0]:
    beat.send()
"""


def test_a_live_owner_is_left_alone_until_takeover_is_given(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER), str(service.map), TABLE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin is not None and owner.stdout is not None
    try:
        assert owner.stdout.readline() == "beating\n"
        before = without_beats(tmp_path)
        refused = invoke("recover", "-c", str(service.map))
        assert refused.exit_code == 72, refused.output
        assert "owned by a live run" in refused.stdout and "--takeover" in refused.stdout
        assert without_beats(tmp_path) == before
        assert invoke("recover", "--plan", "-c", str(service.map)).exit_code == 0
        taken = invoke("recover", "--takeover", "-c", str(service.map))
        assert taken.exit_code == 0, taken.output
        assert "2 renamed" in taken.stdout
    finally:
        owner.stdin.close()
        owner.wait(20)
        owner.stdout.close()


def test_an_owner_that_was_killed_is_no_owner(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER), str(service.map), TABLE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin is not None and owner.stdout is not None
    assert owner.stdout.readline() == "beating\n"
    owner.kill()
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    result = invoke("recover", "-c", str(service.map))
    assert result.exit_code == 0, result.output


def without_beats(folder: Path) -> set[str]:
    return {path for path in tree(folder) if "/alive" not in path}

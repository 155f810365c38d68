"""A process that owns a table as a run does, in the background."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Takes the table over when it is named, says what it is given, and beats until its standard input ends.
OWNER = """
import select, sys
from kafka2hive.config.load import load_map
from kafka2hive.ledger.condition_files import ConditionFiles
from kafka2hive.ledger.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from kafka2hive.ledger.start import take_over
from kafka2hive.service.wiring import wire

config, table, kind, *said = sys.argv[1:]
wiring = wire(load_map(config, {}))
owner, root = wiring.new_owner(), wiring.map.storage.ledger_root
if table:
    take_over(wiring.ports, wiring.paths(table), wiring.new_owner(), None)
me, repairs = wiring.processes.me(), kind == "repair"
beat = Heartbeat(wiring.ports, root, wiring.map.service, owner, me, repairs=repairs)
beat.send()
for text in said:
    ConditionFiles(wiring.ports, root, wiring.map.service, owner).show(text.encode())
print("beating", flush=True)
while not select.select([sys.stdin], [], [], HEARTBEAT_SECONDS / 4)[0]:
    beat.send()
if repairs:
    beat.end()
"""


@contextmanager
def beating_owner(
    config: Path,
    table: str,
    *said: str,
    python: Sequence[str] = (sys.executable,),
    repairs: bool = False,
) -> Iterator["subprocess.Popen[str]"]:
    """From its first heartbeat on; ended in order when the body ends. `python` is what runs it; `repairs`: a command."""
    owner = subprocess.Popen(
        [*python, "-c", OWNER, str(config), table, "repair" if repairs else "run", *said],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin is not None and owner.stdout is not None
    try:
        assert owner.stdout.readline() == "beating\n"
        yield owner
    finally:
        owner.stdin.close()
        owner.wait(240)
        owner.stdout.close()

"""Who is who: a process of this host, of another pid namespace, of an earlier boot."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import HostProcesses, new_uuid, owner_name, process_of, shown_process
from tests.harness.owner import new_owner

STARTED = "20261121T074844Z"


def test_all_names_of_a_process_share_what_no_other_process_has() -> None:
    me = HostProcesses().me()
    names = {new_owner() for _ in range(100)}
    assert len(names) == 100
    assert {process_of(name) for name in names} == {process_of(owner_name(me, new_uuid()))}
    others = [
        replace(me, namespace="pid:[1]"),
        replace(me, boot_id="another"),
        replace(me, started=me.started + 1),
        replace(me, pid=me.pid + 1),
        replace(me, host="another"),
    ]
    assert len({process_of(owner_name(other, new_uuid())) for other in [me, *others]}) == 6
    name = new_owner()
    assert Generation.parse(f"g000001.{STARTED}-{name}") == Generation(1, STARTED, name), "not in the grammar"
    assert shown_process(name) == f"{me.host}-{os.getpid()}"


def test_a_process_that_ended_is_gone_and_one_that_runs_is_not() -> None:
    here = HostProcesses()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    started = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
    identity = replace(here.me(), pid=child.pid, started=started)
    assert not here.is_gone(identity)
    assert not here.is_gone(here.me())
    child.stdin.close()
    child.wait()
    assert here.is_gone(identity)


def test_of_another_pid_namespace_boot_or_host_nobody_is_said_to_be_gone() -> None:
    here = HostProcesses()
    nobody = replace(here.me(), pid=2**22 + 1)
    assert here.is_gone(nobody)
    assert not here.is_gone(replace(nobody, namespace="pid:[1]"))
    assert not here.is_gone(replace(nobody, boot_id="another machine of this name"))
    assert not here.is_gone(replace(nobody, host="another"))

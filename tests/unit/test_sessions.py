"""Whole sessions of processes, stopped and woken."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from tests.harness.sessions import asleep, processes_of_session
from tests.harness.waiting import wait_until
from tests.services.service_process import has_stopped

STARTS_A_PROCESS = """import os, sys
os.waitpid(os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)]), 0)
"""


def test_who_waits_for_a_child_to_begin_its_program_is_stopped_too(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"  # the child opens it before its program begins, and waits for who writes
    os.mkfifo(pipe)
    parent = subprocess.Popen([sys.executable, "-c", STARTS_A_PROCESS, str(pipe)], start_new_session=True)
    writer: list[int] = []
    opens = threading.Timer(0.5, lambda: writer.append(os.open(pipe, os.O_RDWR)))
    try:
        wait_until(lambda: len(processes_of_session(parent.pid)) == 2, "the child")
        opens.start()
        with asleep(parent.pid):
            assert has_stopped(parent.pid)
        assert parent.wait(60) == 0
    finally:
        parent.kill()
        parent.wait()
        opens.join()
        list(map(os.close, writer))

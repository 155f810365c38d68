"""Whole sessions of processes, stopped and woken."""

import subprocess
import sys
import time

from tests.harness.sessions import asleep
from tests.services.service_process import has_stopped

STARTS_PROCESSES = """import os
while True:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
"""


def test_who_starts_processes_all_the_time_is_stopped_too() -> None:
    starting = subprocess.Popen([sys.executable, "-c", STARTS_PROCESSES], start_new_session=True)
    try:
        for number in range(20):  # one stop in five or so finds it in the middle of a vfork
            time.sleep(0.01 * (number % 5))
            with asleep(starting.pid):
                assert has_stopped(starting.pid)
    finally:
        starting.kill()
        starting.wait()

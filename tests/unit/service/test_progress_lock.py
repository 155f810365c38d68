"""A lock knows how long its holder has shown no progress."""

import threading

from kafka2hive.service.progress_lock import BusyLock
from tests.harness.clock import SkippedTime


def test_a_holder_is_busy_since_its_last_progress_until_it_has_let_go_as_often_as_it_took() -> None:
    clock = SkippedTime()
    lock = BusyLock(clock, threading.RLock())
    clock.sleep(5)
    assert lock.busy_seconds() == 0
    with lock:
        clock.sleep(3)
        assert lock.busy_seconds() == 3
        lock.progress()
        clock.sleep(1)
        with lock:
            clock.sleep(2)
        assert lock.busy_seconds() == 2
    assert lock.busy_seconds() == 0

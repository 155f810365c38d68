"""Waiting for something that no event tells of."""

import time
from collections.abc import Callable


def wait_until(ready: Callable[[], object], what: str, seconds: float = 300.0, pause: float = 0.05) -> None:
    """Until `ready()` is true. Fails the test when that takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"not {what} within {seconds:g} s"
        time.sleep(pause)

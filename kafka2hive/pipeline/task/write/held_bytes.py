"""The bound on what a task keeps of encoded files, so that a file that failed can be written again without its records."""

import threading


class HeldBytes:
    """`most` over all files of a task; one file may hold a quarter of it. Safe for any number of threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_of_one = most // 4
        self._lock = threading.Lock()
        self._total = 0

    @property
    def total(self) -> int:
        """Held now, by all files together."""
        return self._total

    def take(self, held: int, more: int) -> bool:
        """Room for `more` bytes of a file that holds `held`; False: there is none, nothing was taken."""
        with self._lock:
            if held + more > self._most_of_one or self._total + more > self._most:
                return False
            self._total += more
            return True

    def release(self, count: int) -> None:
        """Bytes that were taken are let go."""
        with self._lock:
            self._total -= count

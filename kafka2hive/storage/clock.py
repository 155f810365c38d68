"""The real clock."""

import time


class SystemClock:
    """See Clock."""

    def now(self) -> str:
        """See Clock.now."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def epoch_ms(self) -> int:
        """See Clock.epoch_ms."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """See Clock.monotonic."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """See Clock.sleep."""
        time.sleep(seconds)

"""The Clock port on the system's clock."""

import time

from kafka2hive.model.text import utc_text


class SystemClock:
    def now(self) -> str:
        return utc_text(time.time())

    def epoch_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)

"""A clock for tests: no time passes but what somebody waits for."""


class SkippedTime:
    """Waiting takes no time, and is counted in `waits`; `now` stands still, the other two move on by `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> str:
        return "2025-11-21T08:00:00Z"

    def epoch_ms(self) -> int:
        return 1_763_712_000_000 + int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds

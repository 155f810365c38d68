"""An error kept as an object, where the only other way is through text."""

from types import TracebackType


class KeptError:
    """A context that ends errors raised inside it and keeps the first.

    For code that Spark calls: whatever leaves it reaches the driver's main thread as text only, and the caller must
    tell a Fenced from a ManualActionRequired. `KeyboardInterrupt` and `SystemExit` pass through.
    """

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> "KeptError":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = self.error or error
        return True

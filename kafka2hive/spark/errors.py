"""Convert errors of Spark and py4j to this project's errors and messages."""

from types import TracebackType

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # it ships no types

from kafka2hive.model.errors import ServiceUnavailable

#: The errors that a py4j call raises if the JVM is gone.
SPARK_GONE = (Py4JError, ConnectionError, OSError)

_ERROR_CHARACTERS = 4000


def spark_gone(sign: str) -> ServiceUnavailable:
    """Return the error for a JVM that has ended; `sign` says how this was noticed."""
    return ServiceUnavailable(
        "spark.gone",
        f"Spark's JVM is gone: {sign}",
        "start the run again: it resumes after the last committed epoch; if this happens often, look in the kernel's log"
        " whether the JVM was killed for lack of memory",
    )


def error_text(error: Exception) -> str:
    """Return the message and the Python stack of Spark's error, without the JVM's stack, shortened if it is long."""
    message = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    text = message.partition("\n\nDriver stacktrace:")[0]
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("at ")]
    text = "\n".join(lines).strip()
    if len(text) <= _ERROR_CHARACTERS:
        return text
    return f"{text[: _ERROR_CHARACTERS // 2]}\n...\n{text[-_ERROR_CHARACTERS // 2 :]}"


class FirstError:
    """A context that catches errors and keeps the first one.

    It is for code that Spark calls: an error that leaves such code reaches the driver's main thread only as text, and the
    caller must distinguish a Fenced from a ManualActionRequired. `KeyboardInterrupt` and `SystemExit` pass through.
    """

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> "FirstError":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = self.error or error
        return True

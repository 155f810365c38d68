"""Whether the fast tests notice a generated mutant: first the quick way, and who survives it the thorough way."""

import re
import signal
from collections.abc import Iterable, Sequence

from tests.mutants.generated import Mutant
from tests.mutants.judges import judges
from tests.mutants.patched_pytest import NOT_LOADED
from tests.mutants.text_runner import NoVerdict, Ran, WarmPytest

NEAREST = 6
"""Of the test files that judge a module, those that are asked the quick way."""
CPU_SECONDS = 30
"""A loop without an end is noticed after these."""
SECONDS = 240
_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+)", re.MULTILINE)


class Court:
    """Judges mutants one after the other; it keeps two processes that have imported what tests need."""

    def __init__(self) -> None:
        self._quick = WarmPytest(product=True)
        self._thorough = WarmPytest()

    def noticed_by(self, mutant: Mutant, files: Sequence[str] = ()) -> str:
        """The test that fails, or how it hung; "": the mutant survives. `files` default to its judges. Raises NoVerdict."""
        files = files or judges(mutant.function.module)
        quick = self._quick.run(
            files[:NEAREST],
            SECONDS,
            module=mutant.function.module,
            source=mutant.source,
            function=mutant.function.name,
            line=mutant.function.first_line,
            cpu_seconds=CPU_SECONDS,
        )
        if test := _failed(mutant, quick):
            return test
        thorough = self._thorough.run(
            files, SECONDS, module=mutant.function.module, source=mutant.source, cpu_seconds=3 * CPU_SECONDS
        )
        return _failed(mutant, thorough)

    def passes(self, tests: Iterable[str]) -> Ran:
        """The same tests without a mistake, the quick way."""
        return self._quick.run(tests, SECONDS)

    def close(self) -> None:
        """Ends its processes."""
        self._quick.close()
        self._thorough.close()


def _failed(mutant: Mutant, ran: Ran) -> str:
    failed = _FAILED.search(ran.output)
    if failed:
        return failed.group(1)
    if ran.timed_out or ran.code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "hung"
    if ran.code in (0, NOT_LOADED):
        return ""
    if ran.code in (1, 2, 4):
        return "import"
    raise NoVerdict(f"{mutant}: exit code {ran.code}\n{ran.output[-4000:]}")

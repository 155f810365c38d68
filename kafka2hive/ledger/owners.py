"""The owner names of this process: each is made for one take-over attempt, and known again when it turns up later."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Owners:
    """`make` gives `<host>-<pid>-<uuid>` with a fresh uuid at every call; `made` holds every name this process made.

    Full names, not host and process id: another process may have had those. One name per attempt, about 100 bytes.
    """

    make: Callable[[], str]
    made: set[str] = field(default_factory=set)

    def fresh(self) -> str:
        """A name for one attempt, used once, ever. Known from now on: its rename may be carried out at any later time."""
        name = self.make()
        self.made.add(name)
        return name

    def __contains__(self, name: object) -> bool:
        return name in self.made

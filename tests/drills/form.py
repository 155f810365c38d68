"""How long a drill is: short within every `scripts/test`, long in `scripts/drill`."""

import os
from dataclasses import dataclass
from typing import TypeVar

Size = TypeVar("Size")
VARIABLE = "KAFKA2HIVE_DRILL"


@dataclass(frozen=True, slots=True)
class Form:
    """`pick` gives a drill its numbers; `share` scales the long ones (0.1: a tenth of each, at least the short ones)."""

    long: bool
    share: float = 1.0

    def pick(self, short: Size, long: Size) -> Size:
        """The number (or any other value) of this form."""
        return long if self.long else short

    def count(self, short: int, long: int) -> int:
        """How often: `short` in the short form, `long` times the share, never less than `short`, in the long one."""
        return max(short, round(long * self.share)) if self.long else short


def form_asked_for() -> Form:
    """From the environment: `KAFKA2HIVE_DRILL` is unset or `short`, `long`, or `long:SHARE`. Raises ValueError."""
    text = os.environ.get(VARIABLE, "short")
    name, _, share = text.partition(":")
    if name not in {"short", "long"}:
        raise ValueError(f"{VARIABLE}={text}: short, long or long:SHARE")
    return Form(name == "long", float(share or 1))

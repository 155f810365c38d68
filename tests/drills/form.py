"""How long a drill is: short within `scripts/test`, long in `scripts/drill`."""

import os
import random
import sys
from dataclasses import dataclass
from typing import TypeVar

Size = TypeVar("Size")
VARIABLE = "KAFKA2HIVE_DRILL"
SEED_VARIABLE = "KAFKA2HIVE_DRILL_SEED"
SEED = 20130117


class Chance(random.Random):
    """Takes one number for each choice, however many there are to choose from.

    So a choice does not depend on how long a text was that an earlier one chose from: names hold random digits.
    """

    def random(self) -> float:
        """As `random.Random`: with this method of its own a choice is made by it, not by bits drawn until they fit."""
        return super().random()


@dataclass(frozen=True, slots=True)
class Form:
    """`pick` gives a drill its numbers; `share` scales the long ones (0.1: a tenth of each, at least the short ones)."""

    long: bool
    share: float = 1.0

    def pick(self, short: Size, long: Size) -> Size:
        """The number (or any other value) of this form."""
        return long if self.long else short

    def seed(self) -> int:
        """Fixed in the short form: no luck decides a `scripts/test`. Fresh in the long one, which explores and prints it.

        `KAFKA2HIVE_DRILL_SEED` plays one again.
        """
        asked = os.environ.get(SEED_VARIABLE)
        if asked is not None:
            return int(asked)
        if not self.long:
            return SEED
        seed = random.SystemRandom().randrange(1 << 32)
        sys.stdout.write(f"seed {seed}: play it again with {SEED_VARIABLE}={seed}\n")
        return seed

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

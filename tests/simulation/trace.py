"""A schedule as text: one line for each call, event and late RPC."""

import re
from collections.abc import Callable

from tests.simulation.code import REAL, Production
from tests.simulation.kinds import play
from tests.simulation.namenode import ROOT
from tests.simulation.places import LEDGER
from tests.simulation.schedule import Outcome, without_logs

_UUID = re.compile(r"\b([0-9a-f]{6})[0-9a-f]{26}\b")


def shorten(line: str) -> str:
    """Shorten a line: six digits distinguish uuids, and the roots are always the same."""
    text = _UUID.sub(r"\1", line)
    for long, short in ((LEDGER.table_directory, "<ledger>"), (LEDGER.root, "<root>"), (ROOT, "")):
        text = text.replace(long, short)
    return text


def run_traced(
    seed: int, write: Callable[[str], None], code: Production = REAL, kind: str = "ledger"
) -> Outcome:
    """Replay one seed; `write` gets the lines. A seed always gives the same lines."""
    with without_logs():
        outcome = play(kind, seed, code, lambda line: write(shorten(line)))
    write(f"seed {seed}: {shorten(outcome.violation) if outcome.violation else 'every promise held'}")
    return outcome

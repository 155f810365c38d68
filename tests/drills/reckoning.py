"""The end of a drill: all is read, the service ends in good order, and every oracle is asked."""

from dataclasses import dataclass
from pathlib import Path

from tests.drills.supervised import Supervised
from tests.harness.program import command
from tests.harness.service_map import ledger_root, location
from tests.oracle.exact import Acknowledged, assert_exactly, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree


@dataclass(frozen=True, slots=True)
class Dumped:
    """A table of flights of a service below `uri`, and what the broker acknowledged for it."""

    tree: HdfsTree
    uri: str
    table: str
    acknowledged: Acknowledged

    def is_read(self) -> bool:
        """The newest snapshot, finished or not, stands at the end of what was acknowledged."""
        newest = LedgerText(self.tree, ledger_root(self.uri), self.table).newest()
        stands = {(p["topic"], p["number"]): p["end"] for p in newest["position"]}
        return stands == ends_of(self.acknowledged)


def end_well(service: Supervised, config: Path, tables: list[Dumped], seconds: float = 900) -> None:
    """Wait until all is read, end the service by SIGTERM; `verify` finds nothing, `recover` sweeps what is left over."""
    service.wait_until(lambda: all(table.is_read() for table in tables), "at the end", seconds)
    assert service.run.terminate() == 143, service.run.tail()
    verified = command("verify", config, "--json")
    assert verified.code == 0, verified.out + verified.log
    recovered = command("recover", config, "--json")
    assert recovered.code == 0, recovered.log


def assert_exactly_once(table: Dumped) -> int:
    """Each acknowledged flight is one row; nothing is pending, staged or unnamed. Gives the number of rows."""
    place = location(table.uri, table.table)
    assert_settled(table.tree, ledger_root(table.uri), table.table, place, ends_of(table.acknowledged))
    rows = assert_exactly(table.tree, place, table.acknowledged, flight)
    return sum(rows.values())

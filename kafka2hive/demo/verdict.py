"""Is every flight in Hive exactly once? Asked of Hive in SQL, compared with what was produced."""

from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest

from kafka2hive.demo.flights import Tally
from kafka2hive.demo.hive import ThriftServer
from kafka2hive.demo.map_text import MONTH, TABLE

QUERY = f"""\
select {MONTH}, carrier, count(*) as flights, count(distinct kafka_partition, kafka_offset) as places, sum(distance) as miles
from {TABLE} group by {MONTH}, carrier"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`places` are distinct (partition, offset) pairs: fewer than flights means a record twice."""

    produced: Tally
    found: Tally
    places: int

    @property
    def exact(self) -> bool:
        """Every flight once, in the right month, with its values."""
        return self.produced == self.found and self.places == self.produced.flights

    def lines(self) -> list[str]:
        """Months and carriers side by side, produced beside found; a difference is marked."""
        months = _rows(self.produced.months, self.found.months)
        carriers = _rows(self.produced.carriers, self.found.carriers)
        head = f"{'month':9}{'produced':>9}{'in Hive':>9}"
        other = f"{'carrier':9}{'produced':>9}{'in Hive':>9}"
        both = [f"{left:32}{right}" for left, right in zip_longest(months, carriers, fillvalue="")]
        total = f"{'all':9}{self.produced.flights:>9,}{self.found.flights:>9,}"
        return [f"{head}     {other}", *both, "", f"{total}     {self.places:,} distinct (partition, offset)"]


def ask(hive: ThriftServer, produced: Tally) -> Verdict:
    found, places = Tally(), 0
    for month, carrier, flights, distinct, miles in hive.query(QUERY):
        found.months[month] += int(flights)
        found.carriers[carrier] += int(flights)
        found.miles += int(miles)
        places += int(distinct)
    return Verdict(produced, found, places)


def _rows(produced: Counter[str], found: Counter[str]) -> list[str]:
    rows = []
    for name in sorted(produced | found):
        mark = "" if produced[name] == found[name] else "  !!"
        rows.append(f"{name:9}{produced[name]:>9,}{found[name]:>9,}{mark}")
    return rows

"""From rules and the topics there are to concrete tables: pure, decided anew whenever Kafka's topics change.

A pattern must match a topic's whole name. What its groups put into a table's name is made legal by one rule: letters
become lower case, and every character but a-z, 0-9 and _ becomes _. Topics whose groups differ and make one name are a
conflict, never a silent merge, and what a ledger reads already stays. Kafka's own topics (their names begin with `__`) flow only
where they are listed by name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kafka2hive.config.build import location_of
from kafka2hive.config.keys import TableRule
from kafka2hive.config.rules.service import fault_of_table
from kafka2hive.config.rules.table_options import GROUP
from kafka2hive.model.errors import TableError

INTERNAL_PREFIX = "__"
_ILLEGAL = re.compile(r"[^a-z0-9_]")

ReadTopics = Mapping[str, frozenset[str] | None]
"""By table: the topics that its ledger has positions of; None: the ledger cannot be read. Other tables have no ledger."""


@dataclass(frozen=True, slots=True)
class RoutedTable:
    """A concrete table: `rule` with `table` and `location` filled in, and the existing `topics` that flow into it.

    `missing`: topics the rule lists that do not exist (yet). Both sorted.
    """

    rule: TableRule
    topics: tuple[str, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteConflict:
    """Why a topic does not flow into the table its rule names; `line` is the rule's in the map."""

    topic: str
    table: str
    line: int
    message: str
    remedy: str

    @property
    def error(self) -> TableError:
        """The topic is not read; other topics and tables go on."""
        return TableError(
            "route.conflict",
            f"topic {self.topic} is not read (map line {self.line}): {self.message}",
            self.remedy,
        )


@dataclass(frozen=True, slots=True)
class Routing:
    """`tables` by name, in the order of the map; a topic with a conflict is in no table of that rule.

    A table whose name several sources claim, none of which comes first, is not among the tables.
    """

    tables: dict[str, RoutedTable] = field(default_factory=dict)
    conflicts: tuple[RouteConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class _Claim:
    """One source of a table: a rule, and topics with the same groups in its name; `source` is it before it is made legal.

    `read`: its topics that the table's ledger has positions of, whether they exist or not.
    """

    rule: TableRule
    table: str
    source: str
    topics: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    read: frozenset[str] = frozenset()

    @property
    def refused(self) -> tuple[str, ...]:
        return self.topics + self.missing

    @property
    def example(self) -> str:
        """One of its topics."""
        return min(self.topics or self.read)

    def without(self, topics: frozenset[str]) -> "_Claim":
        kept = tuple(topic for topic in self.topics if topic not in topics)
        return replace(self, topics=kept, read=self.read - topics)

    def conflict(self, topic: str, message: str) -> RouteConflict:
        listed = self.rule.pattern is None
        remedy = "give this entry of the map another table" if listed else _leave_out(topic)
        return RouteConflict(
            topic=topic, table=self.table, line=self.rule.line, message=message, remedy=remedy
        )


def route(
    rules: Iterable[TableRule],
    topics: Iterable[str],
    reserved: frozenset[str] = frozenset(),
    read: ReadTopics | None = None,
) -> Routing:
    """Which tables there are and which topics flow into each.

    A rule with topics always gives its table, also when no topic exists yet; a pattern gives a table for each name its
    topics make (none, no table). `reserved`: names no rule may make (the dead-letter table). One topic may flow into
    several tables.

    What the ledger of a table reads already (`read`) keeps the table; of several rules whose topics were never read, the
    first in the map. Where that decides nothing, no topic flows into the table: two topics of one pattern that are new
    at the same time, or a ledger that has read both.
    """
    known, ledgers = sorted(set(topics)), read or {}
    claims: dict[str, list[_Claim]] = {}
    conflicts: list[RouteConflict] = []
    for rule in rules:
        of_rule = (
            [_listed(rule, known, ledgers)]
            if rule.pattern is None
            else _matched(rule, known, ledgers, conflicts)
        )
        for claim in of_rule:
            claims.setdefault(claim.table, []).append(claim)
    tables: dict[str, RoutedTable] = {}
    for name, rivals in claims.items():
        if name in reserved:
            conflicts += _reserved(rivals)
            continue
        sources = _apart(rivals)
        keeper = _keeper(sources, ledgers.get(name, frozenset()))
        if keeper is not None:
            tables[name] = RoutedTable(_concrete(keeper.rule, name), keeper.topics, keeper.missing)
        conflicts += _conflicts(sources, keeper)
    return Routing(tables, tuple(conflicts))


def _listed(rule: TableRule, known: list[str], ledgers: ReadTopics) -> _Claim:
    there = tuple(topic for topic in known if topic in rule.topics)
    missing = tuple(sorted(set(rule.topics) - set(there)))
    read = (ledgers.get(rule.table) or frozenset()) & set(rule.topics)
    return _Claim(rule=rule, table=rule.table, source=rule.table, topics=there, missing=missing, read=read)


def _matched(
    rule: TableRule, known: list[str], ledgers: ReadTopics, conflicts: list[RouteConflict]
) -> list[_Claim]:
    """The claims of a pattern's topics; those of topics that are only in a ledger where another topic claims its table."""
    pattern = re.compile(rule.pattern or "")
    claims: dict[tuple[str, tuple[str, ...]], _Claim] = {}
    for topic in known:
        names = _names(rule.table, pattern, topic)
        if names is None:
            continue
        groups, source, name = names
        if fault := fault_of_table(name):
            conflicts.append(
                RouteConflict(
                    topic=topic, table=name, line=rule.line, message=fault, remedy=_leave_out(topic)
                )
            )
            continue
        claim = claims.get((name, groups), _Claim(rule, name, source))
        claims[name, groups] = replace(claim, topics=(*claim.topics, topic))
    for table, topics in ledgers.items():
        for topic in topics or ():
            names = _names(rule.table, pattern, topic)
            if names is not None and names[2] == table:
                groups, source, _ = names
                claim = claims.get((table, groups), _Claim(rule, table, source))
                claims[table, groups] = replace(claim, read=claim.read | {topic})
    return list(claims.values())


def _apart(rivals: list[_Claim]) -> list[_Claim]:
    """In the order of the map; a topic that an earlier rule brings into the table already is no pattern's any more."""
    claims: list[_Claim] = []
    for claim in rivals:
        earlier = frozenset(
            topic
            for other in claims
            if other.rule is not claim.rule
            for topic in (*other.refused, *other.read)
        )
        own = claim if claim.rule.pattern is None else claim.without(earlier)
        if own.rule.pattern is None or own.topics or own.read:
            claims.append(own)
    return claims


def _keeper(claims: list[_Claim], ledger: frozenset[str] | None) -> _Claim | None:
    """The one source whose topics flow into the table; None: that must be decided first."""
    if not any(claim.refused for claim in claims):
        return None  # its topics are all gone
    if ledger is None and len(claims) > 1:
        return None
    readers = [claim for claim in claims if claim.read]
    if readers:
        return readers[0] if len(readers) == 1 else None
    return claims[0] if all(claim.rule is not claims[0].rule for claim in claims[1:]) else None


def _conflicts(claims: list[_Claim], keeper: _Claim | None) -> list[RouteConflict]:
    """Of every topic that flows into none; each names the other source."""
    conflicts: list[RouteConflict] = []
    for claim in claims:
        if claim is keeper or not claim.refused:
            continue
        other = keeper or next(one for one in claims if one is not claim)
        for topic in claim.refused:
            conflicts.append(claim.conflict(topic, _why(claim, other, keeper)))
    return conflicts


def _why(claim: _Claim, other: _Claim, keeper: _Claim | None) -> str:
    name = claim.table
    if claim.rule is other.rule:
        mine, others = claim.source, other.source
        if mine == others:  # crm.eu_a.b and crm.eu.a_b by crm.{1}_{2}
            mine, others = claim.example, other.example
        why = f"{others} and {mine} would both become {name}"
    else:
        why = f"the name {name} belongs to line {other.rule.line} already"
    if keeper is not None and keeper.read:
        return f"{why}, and the table reads {', '.join(sorted(keeper.read))}"
    return why if keeper is not None else f"{why}, and nothing says which of them is the table's"


def _reserved(rivals: list[_Claim]) -> list[RouteConflict]:
    message = f"the name {rivals[0].table} belongs to the dead-letter table already"
    return [claim.conflict(topic, message) for claim in rivals for topic in claim.refused]


def _leave_out(topic: str) -> str:
    """Python's syntax, as the map's patterns are."""
    return (
        f"give it a table of another name: let the pattern leave it out, beginning with (?!{re.escape(topic)}$),"
        " and name it in an entry of its own; then start the run again"
    )


def _names(template: str, pattern: re.Pattern[str], topic: str) -> tuple[tuple[str, ...], str, str] | None:
    """What the topic's groups in the table's name are; that name with them, and as Hive can have it. None: no match.

    A group that took no part is empty.
    """
    found = None if topic.startswith(INTERNAL_PREFIX) else pattern.fullmatch(topic)
    if found is None:
        return None

    def group(reference: re.Match[str]) -> str:
        key = reference[1]
        return found[int(key) if key.isdigit() else key] or ""

    groups = tuple(group(reference) for reference in GROUP.finditer(template))
    written = GROUP.sub(group, template)
    legal = GROUP.sub(lambda reference: _ILLEGAL.sub("_", group(reference).lower()), template)
    return groups, written, legal.lower()


def _concrete(rule: TableRule, name: str) -> TableRule:
    return replace(rule, table=name, location=location_of(rule.location, name))

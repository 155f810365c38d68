"""Decide which topics go into which tables, from the map's rules and Kafka's topics (pure).

A pattern must match a topic's whole name. The text that its groups contribute to a table's name is made legal: letters
become lower case, and every character except a-z, 0-9 and _ becomes _. Topics with different groups that make the same name
are a conflict and never merged silently; topics that a ledger reads already keep their table. Kafka's internal topics (their
names begin with `__`) are read only if a rule lists them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kafka2hive.config.build import location_of
from kafka2hive.config.keys import TableRule
from kafka2hive.config.rules.table_options import GROUP
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import cluster_of, name_in_kafka
from kafka2hive.model.paths.ledger import fault_of_table

INTERNAL_PREFIX = "__"
_ILLEGAL = re.compile(r"[^a-z0-9_]")

ReadTopics = Mapping[str, frozenset[str] | None]
"""By table: the topics whose positions its ledger holds, None if the ledger cannot be read. A table without ledger is absent."""


@dataclass(frozen=True, slots=True)
class RoutedTable:
    """A concrete table: `rule` with `table` and `location` filled in, and the existing `topics` that go into it.

    `missing` holds topics that the rule lists and that do not exist yet. Both are sorted.
    """

    rule: TableRule
    topics: tuple[str, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteConflict:
    """Why a topic does not go into the table that its rule names; `line` is the rule's line in the map."""

    topic: str
    table: str
    line: int
    message: str
    remedy: str

    @property
    def error(self) -> TableError:
        """The error to report. Only this topic is not read; other topics and tables continue."""
        return TableError(
            "route.conflict",
            f"topic {self.topic} is not read (map line {self.line}): {self.message}",
            self.remedy,
        )


@dataclass(frozen=True, slots=True)
class Routing:
    """The tables by name, in the order of the map, without topics in conflict.

    A table that several sources claim is missing if none of them has precedence.
    """

    tables: dict[str, RoutedTable] = field(default_factory=dict)
    conflicts: tuple[RouteConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class _Claim:
    """A source of a table: a rule, and topics that put the same groups into the table's name.

    `source` is that name before it is made legal. `read` holds the topics whose positions are in the table's ledger,
    whether they exist or not.
    """

    rule: TableRule
    table: str
    source: str
    topics: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    read: frozenset[str] = frozenset()

    @property
    def all_topics(self) -> tuple[str, ...]:
        return self.topics + self.missing

    @property
    def example(self) -> str:
        return min(self.topics or self.read)

    def without(self, topics: frozenset[str]) -> "_Claim":
        kept = tuple(topic for topic in self.topics if topic not in topics)
        return replace(self, topics=kept, read=self.read - topics)

    def conflict(self, topic: str, message: str) -> RouteConflict:
        has_list = self.rule.pattern is None
        remedy = "give this entry of the map another table" if has_list else _leave_out(topic)
        return RouteConflict(
            topic=topic, table=self.table, line=self.rule.line, message=message, remedy=remedy
        )


def route(
    rules: Iterable[TableRule],
    topics: Iterable[str],
    reserved: frozenset[str] = frozenset(),
    read: ReadTopics | None = None,
) -> Routing:
    """Return the tables and the topics that go into each of them.

    A rule that lists topics always makes its table, even if no topic exists yet; a pattern makes a table for each name that
    its topics make. A topic may go into several tables. `reserved` holds names that no rule may make (the dead-letter
    table).

    If several sources claim a table, the one that its ledger reads already (`read`) keeps it; if none was ever read, the
    first rule in the map does. If that does not decide, no topic goes into the table: two topics of one pattern are new at
    the same time, or the ledger has read both.
    """
    known, ledgers = sorted(set(topics)), read or {}
    claims: dict[str, list[_Claim]] = {}
    conflicts: list[RouteConflict] = []
    for rule in rules:
        if rule.pattern is None:
            rule_claims = [_list_claim(rule, known, ledgers)]
        else:
            rule_claims = _pattern_claims(rule, known, ledgers, conflicts)
        for claim in rule_claims:
            claims.setdefault(claim.table, []).append(claim)
    tables: dict[str, RoutedTable] = {}
    for name, rivals in claims.items():
        if name in reserved:
            conflicts += _reserved_conflicts(rivals)
            continue
        sources = _distinct(rivals)
        keeper = _keeper(sources, ledgers.get(name, frozenset()))
        if keeper is not None:
            tables[name] = RoutedTable(_concrete(keeper.rule, name), keeper.topics, keeper.missing)
        conflicts += _conflicts(sources, keeper)
    return Routing(tables, tuple(conflicts))


def _list_claim(rule: TableRule, known: list[str], ledgers: ReadTopics) -> _Claim:
    topics = tuple(topic for topic in known if topic in rule.topics)
    missing = tuple(sorted(set(rule.topics) - set(topics)))
    read = (ledgers.get(rule.table) or frozenset()) & set(rule.topics)
    return _Claim(rule=rule, table=rule.table, source=rule.table, topics=topics, missing=missing, read=read)


def _pattern_claims(
    rule: TableRule, known: list[str], ledgers: ReadTopics, conflicts: list[RouteConflict]
) -> list[_Claim]:
    """Return the claims of a pattern's topics, including topics that exist only in a ledger."""
    pattern = re.compile(rule.pattern or "")
    claims: dict[tuple[str, tuple[str, ...]], _Claim] = {}
    cluster = rule.kafka or ""
    for topic in known:
        names = _names(rule.table, pattern, topic) if cluster_of(topic) == cluster else None
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
            names = _names(rule.table, pattern, topic) if cluster_of(topic) == cluster else None
            if names is not None and names[2] == table:
                groups, source, _ = names
                claim = claims.get((table, groups), _Claim(rule, table, source))
                claims[table, groups] = replace(claim, read=claim.read | {topic})
    return list(claims.values())


def _distinct(rivals: list[_Claim]) -> list[_Claim]:
    """Remove from the claims of patterns the topics that an earlier rule brings into the table, and empty claims."""
    claims: list[_Claim] = []
    for claim in rivals:
        earlier = frozenset(
            topic
            for other in claims
            if other.rule is not claim.rule
            for topic in (*other.all_topics, *other.read)
        )
        own = claim if claim.rule.pattern is None else claim.without(earlier)
        if own.rule.pattern is None or own.topics or own.read:
            claims.append(own)
    return claims


def _keeper(claims: list[_Claim], ledger: frozenset[str] | None) -> _Claim | None:
    """Return the source whose topics go into the table, None if no source has topics or it cannot be decided."""
    if not any(claim.all_topics for claim in claims):
        return None  # the topics exist only in the ledger
    if ledger is None and len(claims) > 1:
        return None
    readers = [claim for claim in claims if claim.read]
    if readers:
        return readers[0] if len(readers) == 1 else None
    return claims[0] if all(claim.rule is not claims[0].rule for claim in claims[1:]) else None


def _conflicts(claims: list[_Claim], keeper: _Claim | None) -> list[RouteConflict]:
    """Return a conflict for each topic that does not go into the table; it names the other source."""
    conflicts: list[RouteConflict] = []
    for claim in claims:
        if claim is keeper or not claim.all_topics:
            continue
        other = keeper or next(one for one in claims if one is not claim)
        for topic in claim.all_topics:
            conflicts.append(claim.conflict(topic, _why(claim, other, keeper)))
    return conflicts


def _why(claim: _Claim, other: _Claim, keeper: _Claim | None) -> str:
    name = claim.table
    if claim.rule is other.rule:
        source, other_source = claim.source, other.source
        if source == other_source:  # crm.eu_a.b and crm.eu.a_b by crm.{1}_{2}
            source, other_source = claim.example, other.example
        why = f"{other_source} and {source} would both become {name}"
    else:
        why = f"the name {name} already belongs to line {other.rule.line}"
    if keeper is not None and keeper.read:
        return f"{why}, and the table reads {', '.join(sorted(keeper.read))}"
    return why if keeper is not None else f"{why}, and neither of them takes precedence"


def _reserved_conflicts(rivals: list[_Claim]) -> list[RouteConflict]:
    message = f"the name {rivals[0].table} already belongs to the dead-letter table"
    return [claim.conflict(topic, message) for claim in rivals for topic in claim.all_topics]


def _leave_out(topic: str) -> str:
    """Return the remedy for a topic of a pattern, with a regular expression in Python's syntax, as the map's patterns have."""
    return (
        f"give the topic another table: exclude it by beginning the pattern with (?!{re.escape(name_in_kafka(topic))}$),"
        " and list it in a separate entry; then start the run again"
    )


def _names(template: str, pattern: re.Pattern[str], topic: str) -> tuple[tuple[str, ...], str, str] | None:
    """Return the topic's groups in the table's name, that name as matched, and the legal name. None if the topic does not match.

    A group that did not take part in the match is empty.
    """
    topic = name_in_kafka(topic)
    match = None if topic.startswith(INTERNAL_PREFIX) else pattern.fullmatch(topic)
    if match is None:
        return None

    def group(reference: re.Match[str]) -> str:
        key = reference[1]
        return match[int(key) if key.isdigit() else key] or ""

    groups = tuple(group(reference) for reference in GROUP.finditer(template))
    source = GROUP.sub(group, template)
    legal = GROUP.sub(lambda reference: _ILLEGAL.sub("_", group(reference).lower()), template)
    return groups, source, legal.lower()


def _concrete(rule: TableRule, name: str) -> TableRule:
    return replace(rule, table=name, location=location_of(rule.location, name))

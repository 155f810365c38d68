"""From rules and the topics there are to concrete tables: pure, decided anew whenever Kafka's topics change.

A pattern must match a topic's whole name. What its groups put into a table's name is made legal by one rule: letters
become lower case, and every character but a-z, 0-9 and _ becomes _. Two different names that become one are a conflict,
never a silent merge. Kafka's own topics (their names begin with `__`) flow only where they are listed by name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kafka2hive.config.build import location_of
from kafka2hive.config.checks.services.service import fault_of_table
from kafka2hive.config.checks.table_options import GROUP
from kafka2hive.config.values import TableRule

INTERNAL_PREFIX = "__"
_ILLEGAL = re.compile(r"[^a-z0-9_]")


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


@dataclass(frozen=True, slots=True)
class Routing:
    """`tables` by name, in the order of the map; a topic with a conflict is in no table of that rule."""

    tables: dict[str, RoutedTable] = field(default_factory=dict)
    conflicts: tuple[RouteConflict, ...] = ()


def route(
    rules: Iterable[TableRule], topics: Iterable[str], reserved: frozenset[str] = frozenset()
) -> Routing:
    """Which tables there are and which topics flow into each.

    A rule with topics always gives its table, also when no topic exists yet; a pattern gives a table for each name its
    topics make (none, no table). Where two rules make the same name the first in the map keeps it. `reserved`: names
    no rule may make (the dead-letter table). One topic may flow into several tables.
    """
    known = sorted(set(topics))
    tables: dict[str, RoutedTable] = {}
    conflicts: list[RouteConflict] = []
    for rule in rules:
        made = _listed(rule, known) if rule.pattern is None else _matched(rule, known, conflicts)
        for name, table in made.items():
            if name in reserved or name in tables:
                other = "the dead-letter table" if name in reserved else f"line {tables[name].rule.line}"
                message = f"the name {name} belongs to {other} already"
                conflicts += [
                    RouteConflict(t, name, rule.line, message) for t in table.topics + table.missing
                ]
            else:
                tables[name] = table
    return Routing(tables, tuple(conflicts))


def _listed(rule: TableRule, known: list[str]) -> dict[str, RoutedTable]:
    there = tuple(topic for topic in known if topic in rule.topics)
    missing = tuple(sorted(set(rule.topics) - set(there)))
    return {rule.table: RoutedTable(_concrete(rule, rule.table), there, missing)}


def _matched(rule: TableRule, known: list[str], conflicts: list[RouteConflict]) -> dict[str, RoutedTable]:
    pattern = re.compile(rule.pattern or "")
    sources: dict[str, str] = {}
    flows: dict[str, list[str]] = {}
    for topic in known:
        found = None if topic.startswith(INTERNAL_PREFIX) else pattern.fullmatch(topic)
        if found is None:
            continue
        written, name = _names(rule.table, found)
        fault = fault_of_table(name)
        if not fault and sources.setdefault(name, written) != written:
            fault = f"{sources[name]} and {written} would both become {name}"
        if fault:
            conflicts.append(RouteConflict(topic, name, rule.line, fault))
        else:
            flows.setdefault(name, []).append(topic)
    return {name: RoutedTable(_concrete(rule, name), tuple(flow)) for name, flow in flows.items()}


def _names(template: str, found: re.Match[str]) -> tuple[str, str]:
    """The table's name as its groups are, and as Hive can have it. A group that took no part is empty."""

    def group(reference: re.Match[str]) -> str:
        key = reference[1]
        return found[int(key) if key.isdigit() else key] or ""

    written = GROUP.sub(group, template)
    legal = GROUP.sub(lambda reference: _ILLEGAL.sub("_", group(reference).lower()), template)
    return written, legal.lower()


def _concrete(rule: TableRule, name: str) -> TableRule:
    return replace(rule, table=name, location=location_of(rule.location, name))

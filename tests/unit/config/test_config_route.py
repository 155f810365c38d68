"""Rules and existing topics make concrete tables; names are made legal, and nothing is merged silently."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import TableRule
from kafka2hive.config.load import load_text
from kafka2hive.config.route import Routing, route

HEAD = """\
service: s
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "hdfs://nn:8020"}
tables:
"""


def rules(*tables: str) -> tuple[TableRule, ...]:
    lines = "".join(f"  - {{{table}, columns: {{a: int}}}}\n" for table in tables)
    return load_text(HEAD + lines, "m", {}).tables


def flows(routing: Routing) -> dict[str, tuple[str, ...]]:
    return {name: table.topics for name, table in routing.tables.items()}


def test_a_rule_with_topics_makes_its_table_even_before_they_exist() -> None:
    routing = route(rules("table: a.b, topics: [x, y]"), ["y", "z"])
    assert flows(routing) == {"a.b": ("y",)}
    assert routing.tables["a.b"].missing == ("x",)


def test_a_pattern_makes_a_table_for_each_name_its_topics_make() -> None:
    family = rules(r"table: 'shop_{db}.{2}_log', pattern: 'shop\.(?P<db>\w+)\.(.+)'")
    routing = route(family, ["shop.sales.orders", "shop.hr.people", "shop.sales", "xshop.a.b"])
    assert flows(routing) == {
        "shop_hr.people_log": ("shop.hr.people",),
        "shop_sales.orders_log": ("shop.sales.orders",),
    }
    rule = routing.tables["shop_hr.people_log"].rule
    assert (rule.table, rule.pattern) == ("shop_hr.people_log", family[0].pattern)
    assert rule.location == "hdfs://nn:8020/warehouse/shop_hr.db/people_log"


def test_a_pattern_without_groups_in_the_name_puts_its_topics_into_one_table() -> None:
    assert flows(route(rules("table: a.b, pattern: 'x-.*'"), ["x-2", "x-1", "y"])) == {"a.b": ("x-1", "x-2")}


def test_a_new_topic_of_a_pattern_appears_without_touching_the_others() -> None:
    family = rules("table: 'a.{1}', pattern: 't-(.*)'")
    before, after = (route(family, topics) for topics in (["t-x"], ["t-x", "t-y"]))
    assert after.tables["a.x"] == before.tables["a.x"]
    assert after.tables.keys() - before.tables.keys() == {"a.y"}


def test_characters_hive_cannot_have_become_underscores() -> None:
    family = rules("table: 'a.{1}', pattern: 't-(.*)'")
    assert flows(route(family, ["t-Order.Items-2"])) == {"a.order_items_2": ("t-Order.Items-2",)}


LEADS, CAPITALS = "crm.eu.Leads-2", "crm.eu.LEADS-2"
TABLE = "crm.eu_leads_2"


def crm(*more: str) -> tuple[TableRule, ...]:
    return rules(r"table: 'crm.{1}_{2}', pattern: 'crm\.(\w+)\.(.+)'", *more)


def refused(routing: Routing) -> list[tuple[str, str]]:
    return [(conflict.topic, conflict.table) for conflict in routing.conflicts]


def test_two_new_topics_that_make_one_name_are_both_refused() -> None:
    routing = route(crm(), [LEADS, CAPITALS])
    assert flows(routing) == {}
    assert refused(routing) == [(CAPITALS, TABLE), (LEADS, TABLE)]
    error = routing.conflicts[1].error
    assert (error.code, error.exit_code) == ("route.conflict", 75)
    assert "crm.eu_LEADS-2 and crm.eu_Leads-2 would both become crm.eu_leads_2" in error.message
    assert r"(?!crm\.eu\.Leads\-2$)" in error.remedy


def test_two_topics_with_different_groups_but_one_name_are_refused() -> None:
    """crm.eu_a.b and crm.eu.a_b have different groups in crm.{1}_{2}."""
    one, other = "crm.eu.a_b", "crm.eu_a.b"
    routing = route(crm(), [one, other])
    assert flows(routing) == {}
    assert refused(routing) == [(one, "crm.eu_a_b"), (other, "crm.eu_a_b")]
    assert "crm.eu_a.b and crm.eu.a_b would both become crm.eu_a_b" in routing.conflicts[0].message
    assert flows(route(crm(), [one, other], read=reads(other, table="crm.eu_a_b"))) == {
        "crm.eu_a_b": (other,)
    }


def test_topics_with_the_same_groups_in_the_name_go_into_one_table() -> None:
    family = rules(r"table: 'crm.{2}', pattern: 'crm\.(\w+)\.(.+)'")
    assert flows(route(family, ["crm.eu.leads", "crm.us.leads"])) == {
        "crm.leads": ("crm.eu.leads", "crm.us.leads")
    }


def test_excluding_one_topic_as_the_error_says_decides_the_conflict() -> None:
    left_out = r"table: 'crm.{1}_{2}', pattern: '(?!crm\.eu\.LEADS\-2$)crm\.(\w+)\.(.+)'"
    routing = route(
        rules(left_out, f"table: crm.capitals, topics: [{CAPITALS}]"), [LEADS, CAPITALS], read=reads(LEADS)
    )
    assert flows(routing) == {TABLE: (LEADS,), "crm.capitals": (CAPITALS,)}
    assert not routing.conflicts


def reads(*topics: str, table: str = TABLE) -> dict[str, frozenset[str] | None]:
    return {table: frozenset(topics)}


def test_the_topic_that_the_ledger_reads_keeps_the_table_in_any_order_of_names() -> None:
    for kept, newcomer in ((LEADS, CAPITALS), (CAPITALS, LEADS)):
        routing = route(crm(), [LEADS, CAPITALS], read=reads(kept))
        assert flows(routing) == {TABLE: (kept,)}
        assert refused(routing) == [(newcomer, TABLE)]
        assert f"the table reads {kept}" in routing.conflicts[0].message


def test_a_deleted_topic_keeps_the_table_whose_ledger_reads_it() -> None:
    routing = route(crm(), [CAPITALS], read=reads(LEADS))
    assert flows(routing) == {TABLE: ()}
    assert refused(routing) == [(CAPITALS, TABLE)]


def test_a_ledger_that_has_read_both_keeps_neither() -> None:
    routing = route(crm(), [LEADS, CAPITALS], read=reads(LEADS, CAPITALS))
    assert flows(routing) == {} and len(routing.conflicts) == 2


def test_a_ledger_that_cannot_be_read_decides_nothing() -> None:
    assert flows(route(crm(), [LEADS, CAPITALS], read={TABLE: None})) == {}
    assert flows(route(crm(), [LEADS], read={TABLE: None})) == {TABLE: (LEADS,)}


def test_topics_of_another_pattern_in_the_ledger_decide_nothing() -> None:
    assert flows(route(crm(), [LEADS], read=reads("old.name"))) == {TABLE: (LEADS,)}


def test_a_later_rule_whose_topic_the_ledger_reads_beats_an_earlier_one() -> None:
    family = rules("table: 'a.{1}', pattern: 's-(.*)'", "table: 'a.{1}', pattern: 't-(.*)'")
    assert flows(route(family, ["s-x", "t-x"])) == {"a.x": ("s-x",)}
    routing = route(family, ["s-x", "t-x"], read=reads("t-x", table="a.x"))
    assert flows(routing) == {"a.x": ("t-x",)} and refused(routing) == [("s-x", "a.x")]


def test_a_topic_of_an_earlier_entry_is_not_a_conflict_of_a_later_pattern() -> None:
    family = rules("table: raw.flights, topics: [flights]", "table: 'raw.{0}', pattern: '.*'")
    routing = route(family, ["flights", "planes"], read=reads("flights", table="raw.flights"))
    assert flows(routing) == {"raw.flights": ("flights",), "raw.planes": ("planes",)}
    assert not routing.conflicts


def test_the_first_rule_of_the_map_keeps_a_name() -> None:
    family = rules("table: a.x, topics: [one]", "table: 'a.{1}', pattern: 't-(.*)'")
    routing = route(family, ["one", "t-x", "t-y"])
    assert flows(routing) == {"a.x": ("one",), "a.y": ("t-y",)}
    assert [(c.topic, c.message) for c in routing.conflicts] == [
        ("t-x", "the name a.x already belongs to line 5")
    ]


def test_a_rule_without_existing_topics_keeps_its_name_from_a_later_one() -> None:
    first, later = "table: a.x, topics: [one]", "table: a.x, topics: [two]"
    assert route(rules(first), []).tables["a.x"].missing == ("one",)
    routing = route(rules(later, "table: 'a.{1}', pattern: 't-(.*)'"), ["t-x"])
    assert refused(routing) == [("t-x", "a.x")]
    by_pattern = rules("table: 'a.{1}', pattern: 't-(.*)'", first)
    assert refused(route(by_pattern, ["t-x"])) == [("one", "a.x")]


def test_the_first_rule_does_not_keep_a_name_whose_ledger_cannot_be_read() -> None:
    family = rules("table: a.x, topics: [one]", "table: 'a.{1}', pattern: 't-(.*)'")
    routing = route(family, ["one", "t-x"], read={"a.x": None})
    assert flows(routing) == {} and refused(routing) == [("one", "a.x"), ("t-x", "a.x")]


def test_the_dead_letter_table_is_reserved() -> None:
    routing = route(rules("table: 'a.{1}', pattern: 't-(.*)'"), ["t-dl"], frozenset({"a.dl"}))
    assert routing.tables == {}
    assert "the dead-letter table" in routing.conflicts[0].message


def test_a_name_that_stays_illegal_is_a_conflict() -> None:
    family = rules("table: 'a.{1}', pattern: 't-?(.*)'")
    routing = route(family, ["t-", "t" + "x" * 200])
    assert routing.tables == {}
    assert [c.topic for c in routing.conflicts] == ["t-", "t" + "x" * 200]


def test_one_topic_may_go_into_several_tables() -> None:
    routing = route(rules("table: a.x, topics: [t]", "table: a.y, pattern: t"), ["t"])
    assert flows(routing) == {"a.x": ("t",), "a.y": ("t",)}
    assert routing.conflicts == ()


def test_kafkas_internal_topics_are_read_only_if_listed() -> None:
    names = ["__consumer_offsets", "x"]
    assert flows(route(rules("table: a.b, pattern: '.*'"), names)) == {"a.b": ("x",)}
    assert flows(route(rules("table: a.b, topics: [__consumer_offsets]"), names)) == {
        "a.b": ("__consumer_offsets",)
    }


@given(st.lists(st.text("abAB._-0", min_size=1, max_size=6), max_size=12))
def test_every_topic_is_in_one_table_or_one_conflict_and_the_order_does_not_matter(topics: list[str]) -> None:
    family = FAMILY
    routing = route(family, topics)
    placed = [t for table in routing.tables.values() for t in table.topics] + [
        c.topic for c in routing.conflicts
    ]
    assert sorted(placed) == sorted({t for t in topics if not t.startswith("__")})
    assert all(re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_]+", name) for name in routing.tables)
    assert route(family, reversed(topics)) == routing


FAMILY = rules("table: 'a.{1}', pattern: '(.*)'")

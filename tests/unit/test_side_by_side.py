"""How the tests are dealt out to workers."""

from pathlib import Path

from tests.side_by_side import FOLDERS, GROUPS, LONGEST, group, place

ROOT = Path(__file__).resolve().parents[2]


def test_every_file_and_folder_that_is_named_is_there() -> None:
    named = {*FOLDERS, *GROUPS, *(name.partition("::")[0] for name in LONGEST)} - set(GROUPS.values())
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
    assert not [name for name in LONGEST if "/" not in name and name not in GROUPS.values()]


def test_the_tests_of_a_file_stay_together_and_those_that_only_compute_do_not() -> None:
    assert group("tests/drills/test_damage.py::test_a") == group("tests/drills/test_damage.py::test_b")
    assert group("tests/integration/test_dump_flights.py::test_a") == group(
        "tests/integration/test_hive_compared.py::test_b[x]"
    )
    assert group("tests/mutants/test_x.py::test_a[1]") != group("tests/mutants/test_x.py::test_a[2]")


def test_the_longest_begin_first_and_unit_tests_last() -> None:
    begun = sorted(
        [
            "tests/unit/test_a.py::test_a",
            "tests/contract/test_a.py::test_a",
            "tests/drills/test_a.py::test_a",
            "tests/drills/test_damage.py::test_a",
            "tests/integration/test_dump_outages.py::test_a",
        ],
        key=place,
    )
    assert [name.split("/")[1] for name in begun] == ["integration", "drills", "drills", "contract", "unit"]
    assert "damage" in begun[1]

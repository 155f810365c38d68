"""`where` says which files of an offset Hive must not have yet (`register: complete`), until their certificate."""

import json
from dataclasses import replace

from kafka2hive.ledger.snapshot.change import Completeness
from kafka2hive.service.inspect.where import OffsetPlace, where
from tests.harness.cli_ledger import invoke
from tests.unit.service.verify.test_certify import DAYS, Dump, dump

__all__ = ["dump"]

PLACE = "flights-0@16"
SAID = "not in Hive before the certificate of its partition"


def waiting_days(dump: Dump) -> list[str]:
    """The partitions of the files that `where` says Hive must not have."""
    (answer,) = where(dump.service.wiring, OffsetPlace.parse(PLACE))
    assert {file.hive_partition.path for file in answer.files} == set(DAYS)
    return [file.hive_partition.path for file in answer.files if file.final in answer.withheld]


def test_files_of_a_partition_that_waits_for_its_certificate_are_told_until_hive_may_have_it(
    dump: Dump,
) -> None:
    assert waiting_days(dump) == []
    place = dump.partition(DAYS[0])
    others = tuple(each for each in dump.owned.state.unregistered if each != place)
    dump.owned = replace(dump.owned, state=replace(dump.owned.state, withheld=(place,), unregistered=others))
    dump.publish(Completeness(through="2013-01-03T00:00:00Z", withholds=True))
    assert waiting_days(dump) == [DAYS[0]]
    told = invoke("where", PLACE, "-c", str(dump.service.map))
    assert told.exit_code == 0 and told.stdout.count(SAID) == 1
    (table,) = json.loads(invoke("where", PLACE, "--json", "-c", str(dump.service.map)).stdout)["tables"]
    assert {file["path"].split("/")[-2]: file["withheld"] for file in table["files"]} == {
        DAYS[0]: True,
        DAYS[1]: False,
    }
    dump.publish(Completeness(through="2013-01-03T00:00:00Z"))
    assert waiting_days(dump) == [], "the map has `register: first` again"
    assert SAID not in invoke("where", PLACE, "-c", str(dump.service.map)).stdout

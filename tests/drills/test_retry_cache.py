"""The master is away for longer than its retry cache lives, and calls of the past arrive again.

A NameNode remembers the answers to changes for ten minutes (here: seconds) and gives them again when the same call comes
again. After that, or on a NameNode that never saw the first one, a repeated delete or rename is carried out once more.
A design that deletes in order to write again loses data then; this project's names are used once, ever.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hdfs_native import Client, WriteOptions

from tests.drills.conftest import Figures
from tests.drills.delete_before_write import DeleteBeforeWrite, content, lost_delete
from tests.drills.form import Form
from tests.drills.leftovers import take_marker_drafts_away
from tests.drills.stream import Stream, some_flights
from tests.drills.supervised import Supervised
from tests.harness.namenode_proxy import Change, LateCalls, LoseSome, NameNodeProxy
from tests.harness.scenario import Scenario, flights_in, on_hdfs
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker

CACHE_SECONDS = 3.0


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """An HDFS whose NameNode remembers answers for CACHE_SECONDS."""
    expiry = {"dfs.namenode.retrycache.expirytime.millis": str(round(CACHE_SECONDS * 1000))}
    with Hdfs(tmp_path_factory.mktemp("forgetful"), properties=expiry) as hdfs:
        yield hdfs


@pytest.fixture
def proxy(forgetful: Hdfs) -> Iterator[NameNodeProxy]:
    """Before that NameNode."""
    with NameNodeProxy(int(forgetful.namenode_url.rpartition(":")[2])) as proxy:
        yield proxy


def outlive_the_cache(hdfs: Hdfs) -> None:
    """The master answers nobody until its memory of answers is over (its clock goes on), then does other work."""
    hdfs.namenode.suspend()
    time.sleep(CACHE_SECONDS + 0.5)
    hdfs.namenode.resume()
    client = hdfs.client()
    for _ in range(
        2
    ):  # entries that are over leave the cache when others come in (mkdirs is none of its calls)
        client.create("/other-work", WriteOptions(overwrite=True)).close()


def lost(forgetful: Hdfs, proxy: NameNodeProxy, folder: str) -> Change:
    """A delete whose answer was lost, before the rows that a second attempt committed."""
    return lost_delete(proxy, lambda: Client(proxy.url, forgetful.client_properties), folder)


def test_delete_before_write_loses_committed_rows_when_its_delete_comes_again_after_the_cache(
    forgetful: Hdfs, proxy: NameNodeProxy, unique: str
) -> None:
    direct = forgetful.client()
    for number in range(20):  # what takes longer than the cache lives cannot show what it does while it lives
        folder = f"/{unique}/{number}"
        DeleteBeforeWrite(direct, folder).attempt(b"left by a job that was killed")
        began = time.monotonic()
        late = lost(forgetful, proxy, folder)
        target = f"{folder}/part-0"
        assert content(direct, target) == b"rows", "the second attempt is done: the rows are committed"
        assert proxy.repeat(late) == ""
        if time.monotonic() - began < CACHE_SECONDS:
            break
    else:
        raise AssertionError(f"two attempts and a late call never took less than {CACHE_SECONDS} s")
    assert content(direct, target) == b"rows", "while the cache lives the same call changes nothing"
    outlive_the_cache(forgetful)
    assert proxy.repeat(late) == ""
    assert content(direct, target) is None, "the cache is over, and the late delete took the rows"


def test_a_delete_that_found_nothing_is_never_remembered_and_loses_rows_at_once_when_it_comes_again(
    forgetful: Hdfs, proxy: NameNodeProxy, unique: str
) -> None:
    direct, target = forgetful.client(), f"/{unique}/part-0"
    direct.mkdirs(f"/{unique}")
    late = lost(forgetful, proxy, f"/{unique}")
    assert content(direct, target) == b"rows"
    assert proxy.repeat(late) == ""
    assert content(direct, target) is None, "the cache keeps successes only, and `false` is none"


def test_a_staging_name_used_twice_shows_half_a_file_when_its_rename_comes_again_after_the_cache(
    forgetful: Hdfs, proxy: NameNodeProxy, unique: str
) -> None:
    direct = forgetful.client()
    direct.mkdirs(f"/{unique}")
    writer = DeleteBeforeWrite(Client(proxy.url, forgetful.client_properties), f"/{unique}")
    writer.attempt(b"rows of yesterday")
    (late,) = [change for change in proxy.changes() if change.method == "rename2"]
    outlive_the_cache(forgetful)
    direct.delete(writer.target)  # the next attempt, half done
    writer.stage(b"ro")
    assert proxy.repeat(late) == ""
    assert content(direct, writer.target) == b"ro", "readers see what was never committed"


@pytest.mark.timeout(3600)
def test_the_service_loses_and_doubles_nothing_when_all_its_calls_come_again_after_the_cache(
    kafka: KafkaBroker,
    forgetful: Hdfs,
    proxy: NameNodeProxy,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    table, storage = f"{unique}.flights", on_hdfs(forgetful, unique, proxy.url)
    scenario = Scenario(tmp_path, unique, kafka.bootstrap, storage, [flights_in(table, unique)])
    kafka.create_topic(unique, 4)
    late = LateCalls(proxy, CACHE_SECONDS * 1.5, chance)
    outages = form.count(1, 20)
    per_second = form.pick(500, 300)
    with (
        Stream(kafka.bootstrap, {unique: 4}, some_flights(seed, per_second), per_second) as load,
        Supervised(scenario.config) as service,
    ):
        service.wait_for_epochs(1)
        proxy.lose = LoseSome(chance, 3, 15)
        with late:
            for _ in range(outages):
                service.wait_for_epochs(2)
                outlive_the_cache(forgetful)
            service.wait_for_epochs(3)
            service.wait_until(lambda: proxy.lost > 0 and bool(late.answers), "short of an answer", 600)
        proxy.lose = lambda change: False
        stored = scenario.end(service, load)
        scenario.verify("--json")
        scenario.recover("--json")
    during = len(late.answers)

    time.sleep(CACHE_SECONDS + 0.5)
    late.repeat_all(proxy.changes())  # the whole history once more, in its order
    everything = proxy.changes()
    chance.shuffle(everything)
    time.sleep(CACHE_SECONDS + 0.5)
    late.repeat_all(everything)  # and in disorder
    for _ in range(2):  # the second one's calls and the first one's sweeps come again in between
        scenario.recover("--json")
        late.repeat_all([change for change in proxy.changes() if change.method in ("delete", "rename2")])
    scenario.verify("--contents", "--json")

    # a late create of the owner marker's draft leaves an empty file
    strays = take_marker_drafts_away(scenario.tree, scenario.location(table), empty_only=True)
    rows = scenario.assert_exactly_once(stored)[table].total()
    assert rows == len(stored)
    asked = Counter(method for method, _ in late.answers)
    done = Counter(method for method, error in late.answers if not error)
    assert all(asked[method] for method in ("create", "rename2", "delete", "mkdirs")), (
        f"{asked} (seed {seed})"
    )
    assert done["create"], f"no late create was carried out: the cache answered? (seed {seed})"
    assert asked["rename2"] > done["rename2"], f"no late rename was refused (seed {seed})"
    assert proxy.lost and during, f"seed {seed}"
    figures(
        late_calls=sum(asked.values()),
        during_the_run=during,
        **{f"late_{method}": asked[method] for method in sorted(asked)},
        carried_out_again=sum(done.values()),
        **{f"{method}_carried_out": done[method] for method in sorted(asked)},
        answers_lost=proxy.lost,
        ambiguous_answers=len(service.unclear),
        outages_longer_than_the_cache=outages,
        restarts=service.restarts,
        empty_marker_drafts_left=strays,
        rows=rows,
    )

"""The master is away for longer than its retry cache lives, and calls of the past arrive again.

A NameNode remembers the answers to changes for ten minutes (here: seconds) and gives them again when the same call comes
again. After that, or on a NameNode that never saw the first one, a repeated delete or rename is carried out once more.
A design that deletes in order to write again loses data then, and one that uses a staging name twice shows half a file.
"""

import time
from collections.abc import Iterator

import pytest
from hdfs_native import Client, WriteOptions

from tests.drills.namenode_proxy import Change, NameNodeProxy
from tests.services.hdfs import Hdfs

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


class DeleteBeforeWrite:
    """A writer as many are: an attempt clears the target of what an earlier one may have left, writes, renames."""

    def __init__(self, client: Client, folder: str) -> None:
        self.target = f"{folder}/part-0"
        self._staged = f"{folder}/_part-0.tmp"
        self._client = client

    def attempt(self, data: bytes) -> None:
        """Raises OSError when an answer is lost; the caller starts a new attempt, as a scheduler would."""
        self._client.delete(self.target)
        self.stage(data)
        self._client.rename(self._staged, self.target)

    def stage(self, data: bytes) -> None:
        writer = self._client.create(self._staged, WriteOptions(overwrite=True))
        writer.write(data)
        writer.close()


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


def content(client: Client, path: str) -> bytes | None:
    try:
        with client.read(path) as file:
            return bytes(file.read())
    except FileNotFoundError:
        return None


def lost_delete(forgetful: Hdfs, proxy: NameNodeProxy, folder: str) -> Change:
    """A first attempt whose delete is carried out while its answer is lost; the second attempt commits its rows."""
    proxy.lose = lambda change: change.method == "delete"
    with pytest.raises(OSError, match="disconnected"):
        DeleteBeforeWrite(Client(proxy.url, forgetful.client_properties), folder).attempt(b"rows")
    (late,) = [change for change in proxy.changes() if change.method == "delete"]
    proxy.lose = lambda change: False
    DeleteBeforeWrite(Client(proxy.url, forgetful.client_properties), folder).attempt(b"rows")
    return late


def test_delete_before_write_loses_committed_rows_when_its_delete_comes_again_after_the_cache(
    forgetful: Hdfs, proxy: NameNodeProxy, unique: str
) -> None:
    direct, target = forgetful.client(), f"/{unique}/part-0"
    DeleteBeforeWrite(direct, f"/{unique}").attempt(b"left by a job that was killed")
    late = lost_delete(forgetful, proxy, f"/{unique}")
    assert content(direct, target) == b"rows", "the second attempt is done: the rows are committed"
    assert proxy.repeat(late) == ""
    assert content(direct, target) == b"rows", "while the cache lives the same call changes nothing"
    outlive_the_cache(forgetful)
    assert proxy.repeat(late) == ""
    assert content(direct, target) is None, "the cache is over, and the late delete took the rows"


def test_a_delete_that_found_nothing_is_never_remembered_and_loses_rows_at_once_when_it_comes_again(
    forgetful: Hdfs, proxy: NameNodeProxy, unique: str
) -> None:
    direct, target = forgetful.client(), f"/{unique}/part-0"
    direct.mkdirs(f"/{unique}")
    late = lost_delete(forgetful, proxy, f"/{unique}")
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

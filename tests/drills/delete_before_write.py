"""A writer as many are, which deletes in order to write again: what it loses, this project must not."""

from collections.abc import Callable

import pytest
from hdfs_native import Client, WriteOptions

from tests.harness.namenode_proxy import Change, NameNodeProxy


class DeleteBeforeWrite:
    """An attempt clears the target of what an earlier one may have left, writes, renames."""

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


def content(client: Client, path: str) -> bytes | None:
    """The bytes of the file, None if there is none."""
    try:
        with client.read(path) as file:
            return bytes(file.read())
    except FileNotFoundError:
        return None


def lost_delete(proxy: NameNodeProxy, client: Callable[[], Client], folder: str) -> Change:
    """A first attempt whose delete is carried out while its answer is lost; the second attempt commits its rows.

    Each attempt has a new `client` of the proxy.
    """
    before = len(proxy.changes())
    proxy.lose = lambda change: change.method == "delete"
    with pytest.raises(OSError, match="disconnected"):
        DeleteBeforeWrite(client(), folder).attempt(b"rows")
    (late,) = [change for change in proxy.changes()[before:] if change.method == "delete"]
    proxy.lose = lambda change: False
    DeleteBeforeWrite(client(), folder).attempt(b"rows")
    return late

"""One connection to HDFS, and whether what it shows can be believed (ADR 0002, point 7)."""

import threading
from typing import Any

from kafka2hive.config.checks.services.kerberos import AUTHENTICATION
from kafka2hive.config.values import KerberosOptions
from kafka2hive.model.errors import ConfigError
from kafka2hive.storage.guard import Guard
from kafka2hive.storage.hdfs_writer import Closings

# hdfs-native's own defaults keep a call to a dead NameNode waiting for three minutes. With these it is about 6.5 s (measured in
# the ADR): long enough for a graceful failover inside the call, short enough for the caller's own retries to count.
FAILOVER_DEFAULTS = {
    "dfs.client.failover.max.attempts": "8",
    "dfs.client.failover.sleep.base.millis": "100",
    "dfs.client.failover.sleep.max.millis": "1000",
}


class Doubts:
    """Lost responses of one process, over all its connections. Any thread may count; none is ever taken back.

    Who never asked for a change (`changes`) needs no proof, and makes none: `verify` changes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0
        self.changes = False

    def add(self) -> None:
        """One more; also when what was asked long ago is given up only now."""
        with self._lock:
            self.count += 1


class Session:
    """`client` is a hdfs_native.Client. `guard`, `doubts` and `closings` are handed on when a connection is given up for a
    new one.

    A connection has settled the doubts that were there before the newest journaled change it brought an acknowledgement of
    was sent; a new one has settled none.
    """

    def __init__(self, client: Any, guard: Guard, doubts: Doubts, closings: Closings) -> None:
        self.client = client
        self.guard = guard
        self.doubts = doubts
        self.closings = closings
        self._lock = threading.Lock()
        self._settled = 0

    @property
    def in_doubt(self) -> bool:
        """Whether a question over this connection needs a proof first."""
        return self._settled < self.doubts.count

    def settle(self, doubts: int) -> None:
        """A journaled change was acknowledged; `doubts` had been counted when it was sent."""
        with self._lock:
            self._settled = max(self._settled, doubts)


def connect(
    root: str, properties: dict[str, str], config_dir: str | None, kerberos: KerberosOptions | None = None
) -> Any:
    """A hdfs_native.Client: `properties` win over our defaults, which win over `config_dir`. Raises ConfigError.

    With a keytab it logs in by itself before each connection that it opens, whatever tickets have expired meanwhile.
    """
    from hdfs_native import Client

    own = {AUTHENTICATION: "kerberos"} if kerberos else {}
    login = {
        "kerberos_principal": kerberos.principal if kerberos else None,
        "kerberos_keytab": kerberos.keytab if kerberos else None,
        "kerberos_cache": kerberos.cache if kerberos else None,
    }
    try:
        return Client(root, {**FAILOVER_DEFAULTS, **own, **properties}, config_dir, **login)
    except (OSError, RuntimeError) as error:
        raise ConfigError(
            "storage.hdfs",
            f"{root}: {error}",
            "check storage.uri; a nameservice needs its NameNodes in storage.properties or storage.config_dir",
        ) from None

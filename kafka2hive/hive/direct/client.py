"""Calls of the metastore service, on one of several hosts, with the time limits that thrift's clients lack.

A connection is never used again after an error of the transport: thrift's Python client does not compare numbers of
messages, so it would take the late answer of the call before for the answer of the next one.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from kafka2hive.config.keys import HiveOptions, MetastoreOptions
from kafka2hive.config.machine import metastore_package_missing
from kafka2hive.hive.connection import Connection, ServerNames
from kafka2hive.hive.network import network_errors, timed_out
from kafka2hive.hive.session import BLAMES_STATEMENT, LOGIN_SECONDS, OUTAGE, first_line
from kafka2hive.model.metastore import (
    HiveLoginRefused,
    MetastoreRefused,
    MetastoreUnavailable,
    StatementFailed,
)

log = logging.getLogger(__name__)

METASTORE = ServerNames(
    "the metastore",
    "metastore",
    "metastore.use.SSL",
    "hadoop.rpc.protection of the metastore (authentication means auth, integrity auth-int, privacy auth-conf)",
)
_TRIES = 3
"""The tries of a call that the metastore answers with MetaException, which may be a race of two instances."""
_PAUSE_SECONDS = 0.3


class NoSuchObject(MetastoreRefused):
    """The metastore does not have the database, the table or the partition."""


class ObjectExists(MetastoreRefused):
    """The metastore has the database, the table or the partition already."""


@dataclass(slots=True)
class _Opened:
    """An open connection: thrift's client, its socket's transport, and where it leads."""

    client: Any
    connection: Connection
    address: str


class MetastoreClient:
    """A connection that opens at the first call, to the first host that answers. Threads take turns.

    The options' `timeout_seconds` bounds each read; a host has LOGIN_SECONDS to accept a connection, to log the user in and
    to answer a small call, since a hung server accepts connections.
    """

    def __init__(self, options: MetastoreOptions) -> None:
        self._options = options
        self._lock = threading.RLock()
        self._opened: _Opened | None = None
        self._host = 0

    @property
    def user(self) -> str:
        return self._options.user

    def call(self, name: str, *arguments: Any, is_repeatable: bool = True, retries_races: bool = True) -> Any:
        """Return the answer of a call. `is_repeatable` says that doing it twice changes nothing.

        `retries_races`: a repeatable call that is answered with MetaException is made again after a pause.

        If the connection is lost, a repeatable call is made again on the next host. If there is no answer in time, it is not,
        so that a hung metastore costs one time limit; the metastore may carry the call out later.
        Raises MetastoreUnavailable, MetastoreRefused (NoSuchObject, ObjectExists).
        """
        with self._lock:
            tries = _TRIES if is_repeatable and retries_races else 1
            for left in reversed(range(tries)):
                try:
                    return self._call(name, arguments, is_repeatable)
                except _MetaError as error:
                    if not left:
                        raise error.meaning() from None
                    log.debug("the metastore refuses %s, trying again: %s", name, error)
                    time.sleep(_PAUSE_SECONDS)
        raise AssertionError("the last try returns or raises")

    def log_in(self) -> None:
        """Open a connection that takes part in nothing else, and close it. Raises MetastoreUnavailable."""
        quick = replace(self._options, timeout_seconds=min(self._options.timeout_seconds, LOGIN_SECONDS))
        knocking = MetastoreClient(quick)
        try:
            with knocking._lock:
                knocking._open()
        finally:
            knocking.close()

    def close(self) -> None:
        """Close the connection; the next call opens another. Never raises."""
        with self._lock:
            self._drop()

    def _call(self, name: str, arguments: tuple[Any, ...], is_repeatable: bool) -> Any:
        for left in reversed(range(len(self._options.hosts) + 1)):
            opened = self._open()
            try:
                with self._meanings(opened.address, name):
                    return getattr(opened.client, name)(*arguments)
            except _LostConnection as lost:
                self._drop()
                self._host = (self._host + 1) % len(self._options.hosts)
                if lost.is_late or not is_repeatable or not left:
                    raise MetastoreUnavailable(str(lost)) from lost
                log.info("%s; asking again", lost)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _meanings(self, address: str, call: str) -> Iterator[None]:
        """Turn thrift's errors into ours. Whatever leaves the connection in doubt is a _LostConnection."""
        ttypes = generated().ttypes
        from thrift.Thrift import TApplicationException, TException
        from thrift.transport.TTransport import TTransportException

        where = f"the metastore at {address}"
        try:
            yield
        except ttypes.NoSuchObjectException as error:
            raise NoSuchObject(_text(where, call, error)) from None
        except ttypes.AlreadyExistsException as error:
            raise ObjectExists(_text(where, call, error)) from None
        except ttypes.MetaException as error:
            raise _MetaError(_text(where, call, error)) from None
        except TApplicationException as error:
            if error.type == TApplicationException.UNKNOWN_METHOD:
                self._drop()
                text = f"{where} does not know the call {call}: it is older than Hive 2.3, or another service"
                raise MetastoreRefused(text) from None
            if error.type == TApplicationException.INTERNAL_ERROR:
                raise StatementFailed(_text(where, call, error)) from None
            raise _LostConnection(_text(where, call, error)) from error
        except TTransportException as error:
            raise self._lost(where, call, error) from error
        except TException as error:
            if not hasattr(error, "message"):  # of the protocol, not an answer
                raise _LostConnection(f"{where}: {call}: {error}") from error
            raise MetastoreRefused(_text(where, call, error)) from None
        except network_errors() as error:
            raise self._lost(where, call, error) from error

    def _lost(self, where: str, call: str, error: Exception) -> "_LostConnection":
        if timed_out(error) or "timeout" in str(error).lower():
            text = f"{where} did not answer within {self._options.timeout_seconds:g} s: {call}"
            return _LostConnection(text, is_late=True)
        return _LostConnection(f"{where}: {error}: {call}")

    def _open(self) -> _Opened:
        """Return the open connection, or open one to the first host that answers. Raises MetastoreUnavailable."""
        if self._opened is not None:
            return self._opened
        failures: list[MetastoreUnavailable] = []
        hosts = self._options.hosts
        for step in range(len(hosts)):
            self._host, before = (self._host + (step > 0)) % len(hosts), self._host
            if step:
                log.debug("the metastore at %s:%d does not answer, trying the next host", *hosts[before])
            try:
                self._opened = self._connect(*hosts[self._host])
            except MetastoreUnavailable as error:
                failures.append(error)
            else:
                return self._opened
        kind = (
            HiveLoginRefused
            if all(isinstance(f, HiveLoginRefused) for f in failures)
            else MetastoreUnavailable
        )
        raise kind("; ".join(map(str, failures)))

    def _connect(self, host: str, port: int) -> _Opened:
        """Open a connection, log in, and wait for the answer of a small call."""
        from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated

        options = self._options
        patience = min(options.timeout_seconds, LOGIN_SECONDS)
        connection = Connection(
            HiveOptions(
                host=host,
                port=port,
                user=options.user,
                password=None,
                auth="KERBEROS" if options.auth == "KERBEROS" else "NOSASL",
                timeout_seconds=patience,
                service=options.service,
                qop=options.qop,
                ssl=options.ssl,
                ca_file=options.ca_file,
                kerberos=options.kerberos,
            ),
            METASTORE,
        )
        address = f"{host}:{port}"
        client = generated().client(TBinaryProtocolAccelerated(connection.transport))
        try:
            connection.transport.open()
            if options.auth != "KERBEROS":
                client.set_ugi(options.user, [])
            client.get_config_value("hive.metastore.warehouse.dir", "")
        except network_errors() as error:
            connection.transport.close()
            refusal = connection.refusal(error)
            if refusal is not None:
                raise refusal from error
            raise MetastoreUnavailable(_why_not_open(address, error, options.auth, patience)) from error
        connection.set_timeout(options.timeout_seconds)
        return _Opened(client, connection, address)

    def _drop(self) -> None:
        """Close the connection without a request to the server."""
        if self._opened is not None:
            self._opened.connection.transport.close()
            self._opened = None


class _LostConnection(Exception):
    """Nobody knows whether the call was carried out. `is_late`: the time limit has passed."""

    def __init__(self, message: str, *, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


class _MetaError(Exception):
    """The metastore's MetaException: wrong values, no permission, a race of two instances, or a database that is away."""

    def meaning(self) -> MetastoreUnavailable | MetastoreRefused:
        text = str(self)
        is_outage = OUTAGE.search(text) and not BLAMES_STATEMENT.search(text)
        return MetastoreUnavailable(text) if is_outage else MetastoreRefused(text)


def _text(where: str, call: str, error: Any) -> str:
    """Return the first line of an answer, which may hold whole Java stacks."""
    return f"{where}: {first_line(getattr(error, 'message', None) or str(error))} in: {call}"


def _why_not_open(address: str, error: BaseException, auth: str, seconds: float) -> str:
    where = f"the metastore at {address}"
    if timed_out(error) or "timeout" in str(error).lower():
        return f"{where} did not answer within {seconds:g} s"
    if "read 0 bytes" in str(error) and auth != "KERBEROS":
        return f"{where} closed the connection: if it wants Kerberos or TLS, add auth=KERBEROS or ssl=true to hive.metastore"
    return f"{where}: {error}"


@dataclass(frozen=True, slots=True)
class _Generated:
    """The generated module of the metastore's interface: its types, and the class of its client."""

    ttypes: Any
    client: Any


def generated() -> _Generated:
    """Return the module of the optional package pymetastore. Raises ConfigError (`hive.extra`)."""
    try:
        from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
    except ImportError:
        raise metastore_package_missing() from None
    return _Generated(ttypes, ThriftHiveMetastore.Client)

"""Connections to HiveServer2 over TCP, TLS or HTTP, with the login of the map's `auth`, and why a login fails."""

import ssl
from base64 import b64encode
from functools import partial
from typing import Any, NamedTuple

from kafka2hive.config.keys import HiveOptions
from kafka2hive.config.machine import hive_tls
from kafka2hive.kerberos.gssapi import meaning
from kafka2hive.kerberos.sasl import GssapiClient, ProtectionRefused, context_for
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable

_TICKET_REFUSED = "the server's clock, keytab or realm differs from the KDC's (see the server's log)"


class ServerNames(NamedTuple):
    """How messages name a server, the key of its address in the map's section hive, and its properties of TLS and protection."""

    name: str
    key: str
    tls: str
    protection: str


HIVESERVER2 = ServerNames("HiveServer2", "url", "hive.server2.use.SSL", "hive.server2.thrift.sasl.qop")


class Connection:
    """One connection, not yet open. `transport` is thrift's; the options' time limit applies to each read. Raises ConfigError."""

    def __init__(self, options: HiveOptions, server: ServerNames = HIVESERVER2) -> None:
        self._options = options
        self._server = server
        self._login: GssapiClient | None = None
        self._opened_socket: Any = None
        self.transport = self._transport()

    def set_timeout(self, seconds: float) -> None:
        """Bound each further read; not over HTTP."""
        assert self._options.http_path is None
        self._opened_socket.setTimeout(seconds * 1000)

    def log_in(self) -> None:
        """Connect, and let the server answer a login. Over HTTP any answer suffices; with NOSASL there is no login."""
        self.transport.open()
        if self._options.http_path is not None:
            self.transport.knock()

    def refusal(self, error: BaseException) -> MetastoreUnavailable | None:
        """Return why the login failed, from an error at opening; None if the server may just be unavailable."""
        server = f"{self._server.name} at {self._options.host}:{self._options.port}"
        if self._login is not None and self._login.error is not None:
            return self._kerberos_refusal(server, self._login)
        tls_error = _ssl_error(error)
        if tls_error is not None:
            return HiveLoginRefused(
                f"{server}: TLS: {_reason_of_tls(tls_error, self._options, self._server)}"
            )
        if self._options.http_path is not None:
            return _http_refusal(server, error, self._options)
        return _server_refusal(server, str(error), self._options, f"hive.{self._server.key}")

    def _transport(self) -> Any:
        from thrift.transport.TTransport import TBufferedTransport
        from thrift_sasl import TSaslClientTransport

        if self._options.http_path is not None:
            return self._http(self._options.http_path)
        socket, auth = self._socket(), self._options.auth
        match auth:
            case "NOSASL":
                return TBufferedTransport(socket)
            case "NONE" | "LDAP" | "CUSTOM":
                return TSaslClientTransport(self._plain, "PLAIN", socket)
            case "KERBEROS":
                return TSaslClientTransport(self._gssapi, "GSSAPI", socket)
            case _:
                raise ConfigError(
                    "hive.auth",
                    f"hive auth {auth} is not supported",
                    "use NONE, NOSASL, LDAP, CUSTOM or KERBEROS, as hive.server2.authentication of the server says",
                )

    def _socket(self) -> Any:
        from thrift.transport.TSocket import TSocket

        options = self._options
        if options.ssl:
            from kafka2hive.hive.transport import TlsSocket

            context = hive_tls(options.ca_file)
            socket = TlsSocket(options.host, options.port, ssl_context=context, socket_keepalive=True)
        else:
            socket = TSocket(options.host, options.port, socket_keepalive=True)
        socket.setTimeout(options.timeout_seconds * 1000)
        self._opened_socket = socket
        return socket

    def _http(self, path: str) -> Any:
        from http.client import HTTPConnection, HTTPSConnection

        from kafka2hive.hive.transport import HttpTransport

        options = self._options
        address, seconds = (options.host, options.port), options.timeout_seconds
        connection = (
            HTTPSConnection(*address, timeout=seconds, context=hive_tls(options.ca_file))
            if options.ssl
            else HTTPConnection(*address, timeout=seconds)
        )
        return HttpTransport(connection, path, self._negotiate if options.auth == "KERBEROS" else self._basic)

    def _basic(self) -> str:
        user = f"{self._options.user}:{self._options.password or 'x'}"
        return f"Basic {b64encode(user.encode()).decode()}"

    def _negotiate(self) -> str:
        """Return a header with a new Kerberos token, since the server accepts a token only once. Raises TTransportException."""
        from thrift.transport.TTransport import TTransportException

        login = self._gssapi()
        done, _, token = login.start("GSSAPI")
        if not done:
            raise TTransportException(message=login.getError())
        return f"Negotiate {b64encode(token).decode()}"

    def _plain(self) -> Any:
        from pyhive.sasl_compat import PureSASLClient

        options = self._options
        # with NONE the server accepts any password that is not empty
        return PureSASLClient(options.host, username=options.user, password=options.password or "x")

    def _gssapi(self) -> GssapiClient:
        options = self._options
        context = partial(context_for, options.service, options.host, options.kerberos)
        self._login = GssapiClient(context, options.qop)
        return self._login

    def _kerberos_refusal(self, server: str, login: GssapiClient) -> MetastoreUnavailable:
        error = login.error
        if isinstance(error, ProtectionRefused):
            return HiveLoginRefused(
                f"{server}: {error}: correct qop in hive.{self._server.key}, or {self._server.protection}"
            )
        assert error is not None
        known = meaning(error.minor)
        text = f"{server} as {self._options.service}@{self._options.host}: Kerberos login failed: {error}"
        if known is None:
            return HiveLoginRefused(text)
        return (MetastoreUnavailable if known.is_outage else HiveLoginRefused)(f"{text}: {known.remedy}")


def _ssl_error(error: BaseException) -> ssl.SSLError | None:
    """Return the TLS error within what thrift raises; None if there is none."""
    seen: list[BaseException] = []
    inner: object = error
    while isinstance(inner, BaseException) and inner not in seen:
        if isinstance(inner, ssl.SSLError):
            return inner
        seen.append(inner)
        inner = getattr(inner, "inner", None) or inner.__cause__ or inner.__context__
    return None


def _reason_of_tls(error: ssl.SSLError, options: HiveOptions, server: ServerNames) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message
        if error.verify_code in (62, 64):  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
            return f"{reason}: hive.{server.key} must name the host as the certificate does"
        trusted = f"hive.ca_file {options.ca_file}" if options.ca_file else "the system"
        return f"{reason}: {trusted} does not trust the certificate; name its authority as hive.ca_file"
    return f"{error.reason or error}: does the server speak TLS ({server.tls})? If not, leave ssl=true out"


def _http_refusal(server: str, error: BaseException, options: HiveOptions) -> HiveLoginRefused | None:
    """Return why the login failed, from the HTTP status; None if the status is not about the login."""
    from http.client import BadStatusLine

    from kafka2hive.hive.transport import HttpRefusal

    if isinstance(error, BadStatusLine) and not isinstance(error, ConnectionError):
        return HiveLoginRefused(
            f"{server} does not speak HTTP: leave transport=http out, or correct port and ssl in hive.url"
        )
    if not isinstance(error, HttpRefusal):
        return None
    if error.status in (404, 405):  # HiveServer2 itself answers 405
        return HiveLoginRefused(
            f"{server} has no path {options.http_path}: correct http_path in hive.url ({error})"
        )
    if error.status not in (401, 403):
        return None
    if options.auth == "KERBEROS":
        return HiveLoginRefused(f"{server} refuses the ticket: {_TICKET_REFUSED} ({error})")
    return HiveLoginRefused(
        f"{server} refuses user {options.user}: correct auth and the user in hive.url, and hive.password ({error})"
    )


def _server_refusal(server: str, text: str, options: HiveOptions, key: str) -> HiveLoginRefused | None:
    """Return why the login failed, from the server's answer to SASL; None if the answer is not about the login."""
    if "Unsupported mechanism" in text or "mechanism" in text.lower():
        return HiveLoginRefused(
            f"{server} does not accept auth={options.auth}: set auth in {key} to the server's authentication"
        )
    if "Error validating the login" in text or "AuthenticationException" in text:
        return HiveLoginRefused(
            f"{server} refuses user {options.user}: correct the user in {key}, and hive.password"
        )
    if "GSS initiate failed" in text:
        return HiveLoginRefused(f"{server} refuses the ticket: {_TICKET_REFUSED}")
    return None

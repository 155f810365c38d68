"""One GET request to one address of the registry, with a time limit for the whole exchange."""

import base64
import ssl
import threading
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from urllib.parse import urlsplit

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.registry import port as errors

ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"
MOST_BYTES = 16 * 1024 * 1024
"""The longest body that is accepted; schemas are shorter."""
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
"""OpenSSL's reasons for a failed handshake if the server answers in plain HTTP."""


class NoResponse(Exception):
    """The server could not be reached, or did not send its complete response in time; a retry may succeed."""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response. `body` is no longer than MOST_BYTES."""

    status: int
    body: bytes


class HttpClient:
    """Sends each request over a new connection, with the map's credentials and certificates."""

    def __init__(self, options: RegistryOptions) -> None:
        self._options = options
        self._context: ssl.SSLContext | None = None

    def get(self, url: str, path: str) -> Response:
        """GET `url` + `path`; redirects are not followed.

        Raises NoResponse, or TableError: `registry.tls` (the TLS handshake fails, or a file of the map cannot be used) or
        `registry.answer` (the server speaks another protocol, or its response is too long).
        """
        connection = self._connection(url)
        expired = threading.Event()
        timer = threading.Timer(self._options.timeout_seconds, _abort, (connection, expired))
        timer.daemon = True
        timer.start()
        try:
            connection.request("GET", f"{urlsplit(url).path}{path}", headers=self._headers())
            response = connection.getresponse()
            length, is_framed = response.length, response.chunked or response.length is not None
            body = response.read(MOST_BYTES + 1)
        except ssl.SSLError as error:
            if expired.is_set() or isinstance(error, ssl.SSLEOFError):
                raise NoResponse(self._reason(error, expired)) from error
            if error.reason in _NO_TLS:
                raise errors.foreign_answer(
                    url, "it does not speak TLS; write http:// if that is intended"
                ) from error
            raise errors.tls_error(url, _tls_reason(error)) from error
        except OSError as error:  # includes RemoteDisconnected
            raise NoResponse(self._reason(error, expired)) from error
        except BadStatusLine as error:
            raise errors.foreign_answer(
                url, "its answer is not HTTP; write https:// if it speaks TLS"
            ) from error
        except HTTPException as error:  # the response ended in the middle
            raise NoResponse(self._reason(error, expired)) from error
        finally:
            timer.cancel()
            connection.close()
        if expired.is_set():
            raise NoResponse(self._late())
        if len(body) > MOST_BYTES:
            raise errors.foreign_answer(url, f"the response has more than {MOST_BYTES} bytes")
        # read(limit) raises no error if fewer bytes arrive than Content-Length announces
        if len(body) < (length or 0) or not (is_framed or body.rstrip().endswith((b"}", b"]"))):
            raise NoResponse("the response ended in the middle")
        return Response(response.status, body)

    def _connection(self, url: str) -> HTTPConnection:
        parts = urlsplit(url)
        seconds = self._options.timeout_seconds
        if parts.scheme == "http":
            return HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
        self._context = self._context or self._new_context(url)
        return HTTPSConnection(parts.hostname or "", parts.port, timeout=seconds, context=self._context)

    def _new_context(self, url: str) -> ssl.SSLContext:
        options = self._options
        try:
            context = ssl.create_default_context(cafile=options.ca_file)
            if options.certificate_file is not None:
                # without a password OpenSSL would ask for one on the terminal
                context.load_cert_chain(options.certificate_file, options.key_file, password="")
        except (OSError, ValueError) as error:  # includes SSLError
            files = [options.ca_file, options.certificate_file, options.key_file]
            named = ", ".join(file for file in files if file is not None)
            raise errors.tls_error(url, f"{error} ({named})") from error
        return context

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": ACCEPT, "Connection": "close", "User-Agent": "kafka2hive"}
        if self._options.token is not None:
            headers["Authorization"] = f"Bearer {self._options.token}"
        elif self._options.username is not None:
            pair = f"{self._options.username}:{self._options.password or ''}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return headers

    def _reason(self, error: Exception, expired: threading.Event) -> str:
        if expired.is_set() or isinstance(error, TimeoutError):
            return self._late()
        return str(error) or type(error).__name__

    def _late(self) -> str:
        return f"no complete response within {self._options.timeout_seconds:g} s"


def _abort(connection: HTTPConnection, expired: threading.Event) -> None:
    """End a request that takes too long, even if its bytes trickle in: shutting the socket down ends the next read."""
    expired.set()
    socket = connection.sock
    if socket is not None:
        try:
            socket.shutdown(SHUT_RDWR)
        except OSError:
            pass  # the connection has already ended


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return error.reason or str(error)

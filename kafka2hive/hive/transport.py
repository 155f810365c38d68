"""Transports of HiveServer2: HTTP, with one request per thrift message and the login in its header, and TLS."""

from collections.abc import Callable
from http.client import HTTPConnection
from io import BytesIO

from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TTransportBase, TTransportException


class HttpRefusal(TTransportException):  # type: ignore[misc]
    """The server answered with an HTTP status other than 200, which is `status`."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(message=f"HTTP {status}: {reason}")
        self.status = status


class HttpTransport(TTransportBase):  # type: ignore[misc]
    """A thrift transport over `connection`, which has the time limit. `authorization` makes the header of each request."""

    def __init__(self, connection: HTTPConnection, path: str, authorization: Callable[[], str]) -> None:
        self._connection, self._authorization = connection, authorization
        self._path = "/" + path.lstrip("/")
        self._request, self._response = BytesIO(), BytesIO()

    def isOpen(self) -> bool:  # noqa: N802 - thrift's name
        return self._connection.sock is not None

    def open(self) -> None:
        self._connection.connect()

    def close(self) -> None:
        self._connection.close()

    def knock(self) -> None:
        """Send a request that is no thrift message, and wait for any answer."""
        self._connection.request("GET", self._path)
        self._connection.getresponse().read()

    def read(self, size: int) -> bytes:
        return self._response.read(size)

    def write(self, data: bytes) -> None:
        self._request.write(data)

    def flush(self) -> None:
        """Send the buffered request and read the whole response. Raises HttpRefusal, OSError and http.client's errors."""
        sent, self._request = self._request.getvalue(), BytesIO()
        # servers with hive.server2.xsrf.filter.enabled require X-XSRF-HEADER
        headers = {"Authorization": self._authorization(), "X-XSRF-HEADER": "true"}
        self._connection.request(
            "POST", self._path, sent, {"Content-Type": "application/x-thrift", **headers}
        )
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            line = content.decode(errors="replace").strip().partition("\n")[0]
            raise HttpRefusal(answer.status, (line or answer.reason)[:300])
        self._response = BytesIO(content)


class TlsSocket(TSSLSocket):  # type: ignore[misc]
    """A TLS socket that may be closed before it is open; thrift's socket raises AttributeError then."""

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self.handle is not None:
            super().close()

"""One POST request: how a run tells a server over HTTP what it has done. Each request has a connection of its own."""

import ssl
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

REQUEST_SECONDS = 5.0
_LATER = frozenset({408, 429, 500, 502, 503, 504})
_MOST_SHOWN = 200


class NoReply(Exception):
    """The server did not take the request now; a later try may succeed."""


class Untrusted(NoReply):
    """The server's certificate is not trusted, or a file of the map cannot be read; somebody may mend it meanwhile."""


class Overloaded(NoReply):
    """The server answers that it cannot take the request now."""


class Rejected(Exception):
    """The server does not want this request, so it would reject it again."""


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where to post, and with which headers. `ca_key` is the key of `ca_file` in the map, for messages."""

    url: str
    ca_file: str | None = None
    ca_key: str = ""
    headers: dict[str, str] = field(default_factory=dict, repr=False)

    def post(self, body: bytes, content_type: str, path: str = "") -> None:
        """Post to `path` below the address, and return once the server has taken it. Raises NoReply, Rejected."""
        headers = {"Content-Type": content_type, "Connection": "close", "User-Agent": "kafka2hive"}
        parts = urlsplit(self.url)
        target = f"{parts.path.rstrip('/')}{path}" if path else parts.path or "/"
        try:
            connection = self._connection()
            try:
                connection.request("POST", target, body, headers | self.headers)
                response = connection.getresponse()
                text = response.read(_MOST_SHOWN).decode("utf-8", "replace")
            finally:
                connection.close()
        except ssl.SSLCertVerificationError as error:
            trusted = "the system's authorities" if self.ca_file is None else f"{self.ca_key} {self.ca_file}"
            raise Untrusted(f"its certificate is not trusted by {trusted}: {error.verify_message}") from error
        except (OSError, HTTPException) as error:  # includes ssl.SSLError
            raise NoReply(str(error) or type(error).__name__) from error
        if response.status in _LATER:
            raise Overloaded(f"HTTP {response.status} {text}")
        if not 200 <= response.status < 300:
            raise Rejected(f"HTTP {response.status} {text}")

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "http":
            return HTTPConnection(host, parts.port or 80, timeout=REQUEST_SECONDS)
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:  # includes ssl.SSLError
            raise Untrusted(f"{self.ca_key} {self.ca_file} cannot be read: {error}") from error
        return HTTPSConnection(host, parts.port or 443, timeout=REQUEST_SECONDS, context=context)


def bearer(token: str | None) -> dict[str, str]:
    """Return the header with a token, none without a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}

"""A small OAuth 2.0 issuer: access tokens by client credentials, signed with RS256 (RFC 6749 4.4, RFC 7519)."""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.services.certificates import openssl

AUDIENCE = "kafka"


class TokenIssuer:
    """Its key pair and its clients; `seconds` is how long a token lives."""

    def __init__(self, folder: Path, clients: dict[str, str], seconds: int = 300) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.clients, self.seconds = clients, seconds
        self.issued = 0
        self._key = folder / "issuer.key"
        self.key_set = folder / "jwks.json"
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self._key))
        modulus = openssl("rsa", "-in", str(self._key), "-noout", "-modulus").decode().strip()
        number = _text(bytes.fromhex(modulus.removeprefix("Modulus=")))
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": number, "e": "AQAB"}
        self.key_set.write_text(json.dumps({"keys": [key]}))

    def token(self, client: str) -> str:
        """A signed access token of this client."""
        now = int(time.time())
        head = {"alg": "RS256", "typ": "JWT", "kid": "1"}
        claims = {"sub": client, "aud": AUDIENCE, "iss": "tests", "iat": now, "exp": now + self.seconds}
        text = ".".join(_text(json.dumps(part).encode()) for part in (head, claims))
        signed = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", str(self._key)],
            input=text.encode(), check=True, capture_output=True,
        )  # fmt: skip
        self.issued += 1
        return f"{text}.{_text(signed.stdout)}"

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The address of its token endpoint."""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                who = self.headers.get("Authorization", "").removeprefix("Basic ")
                client, _, secret = base64.b64decode(who).decode().partition(":")
                if issuer.clients.get(client) == secret:
                    said: dict[str, Any] = {"access_token": issuer.token(client), "token_type": "Bearer"}
                    self._answer(200, said | {"expires_in": issuer.seconds})
                else:
                    self._answer(401, {"error": "invalid_client"})

            def _answer(self, status: int, said: dict[str, Any]) -> None:
                body = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Nothing: the output is the tests'."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/token"
        finally:
            server.shutdown()
            server.server_close()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")

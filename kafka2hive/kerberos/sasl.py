"""SASL's mechanism GSSAPI (RFC 4752) with the interface that thrift_sasl expects of a client.

Each call returns whether it succeeded, instead of raising.
"""

import struct
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from kafka2hive.config.keys import KerberosOptions
from kafka2hive.kerberos.gssapi import Context, Credentials, GssError, Name

Result = TypeVar("Result")

LAYERS: Final = {"auth": 1, "auth-int": 2, "auth-conf": 4}
_MOST_BYTES: Final = 0xFFFFFF


class ProtectionRefused(GssError):
    """The server does not offer the protection that the map asks for."""


def credentials(options: KerberosOptions | None) -> Credentials | None:
    """Return the credentials of the map's login; the library renews tickets of a keytab.

    None stands for the credentials of the process's environment. Raises GssError.
    """
    if options is None:
        return None
    if options.cache is not None:
        return Credentials(options.principal, {"ccache": options.cache})
    # tickets stay in this process's memory, separate from those of other principals and keytabs
    memory = f"MEMORY:kafka2hive:{options.principal}:{options.keytab}"
    return Credentials(options.principal, {"client_keytab": f"FILE:{options.keytab}", "ccache": memory})


class SecurityContext(Protocol):
    """The part of Context that GssapiClient uses; each method may raise GssError."""

    def step(self, challenge: bytes) -> tuple[bytes, bool]: ...

    def wrap(self, content: bytes, *, encrypt: bool) -> bytes: ...

    def unwrap(self, content: bytes) -> tuple[bytes, bool]: ...


def context_for(service: str, host: str, login: KerberosOptions | None) -> Context:
    """Return a context with `service/host` that has not begun. Raises GssError."""
    return Context(Name(f"{service}@{host}", of_service=True), credentials(login))


class GssapiClient:
    """The client's side of one connection.

    `qop` is the protection that must be used (one of LAYERS); None takes the strongest one that the server offers.
    `error` is the last failure, None if no call has failed.
    """

    def __init__(self, new_context: Callable[[], SecurityContext], qop: str | None) -> None:
        self._new_context, self._qop = new_context, qop
        self._context: SecurityContext | None = None
        self._established = False
        self._layer = 0
        self.error: GssError | None = None

    def start(self, mechanism: str) -> tuple[bool, str, bytes]:
        """Return whether it succeeded, the mechanism, and the first token."""
        done, token = self._guard(self._first)
        return done, mechanism, token or b""

    def step(self, challenge: bytes) -> tuple[bool, bytes | None]:
        """Return the answer to a challenge: tokens until the context is established, then the choice of a protection."""
        return self._guard(lambda: self._next(bytes(challenge or b"")))

    def encode(self, content: bytes) -> tuple[bool, bytes | None]:
        """Return the frame to send: `content` unchanged (auth), or its protected form after a length of four bytes."""
        return self._guard(lambda: self._encode(bytes(content)))

    def decode(self, frame: bytes) -> tuple[bool, bytes | None]:
        """Return the content of a protected frame, which begins with its length.

        A frame that is not encrypted is refused if auth-conf was agreed.
        """
        return self._guard(lambda: self._decode(bytes(frame)))

    def getError(self) -> str:  # noqa: N802 - thrift_sasl's name
        """Return the text of the last failure, empty if no call has failed."""
        return str(self.error or "")

    def _guard(self, call: Callable[[], Result]) -> tuple[bool, Result | None]:
        try:
            return True, call()
        except GssError as error:
            self.error = error
            return False, None

    def _first(self) -> bytes:
        self._context = self._new_context()
        return self._step(b"")

    def _step(self, challenge: bytes) -> bytes:
        token, self._established = self._open_context.step(challenge)
        return token

    @property
    def _open_context(self) -> SecurityContext:
        assert self._context is not None, "start comes first"
        return self._context

    def _next(self, challenge: bytes) -> bytes:
        if not self._established:
            return self._step(challenge)
        # one byte with a bit per layer, and three bytes with the length of the longest frame
        offer, _ = self._open_context.unwrap(challenge)
        if len(offer) != 4:
            raise GssError("the server's offer of protection does not have the form of RFC 4752", 0)
        self._layer = chosen_layer(offer[0], self._qop)
        longest = _MOST_BYTES if self._layer > 1 else 0
        return self._open_context.wrap(struct.pack(">I", self._layer << 24 | longest), encrypt=False)

    def _agreed(self) -> int:
        """Return the agreed layer. Raises GssError if none was agreed.

        An attacker may forge the message that ends the login early; no frame may be sent unprotected because of it.
        """
        if self._layer == 0:
            raise GssError("the server ended the login before a protection was agreed", 0)
        return self._layer

    def _encode(self, content: bytes) -> bytes:
        if self._agreed() == LAYERS["auth"]:
            return content
        wrapped = self._open_context.wrap(content, encrypt=self._layer == LAYERS["auth-conf"])
        return struct.pack(">I", len(wrapped)) + wrapped

    def _decode(self, frame: bytes) -> bytes:
        content, was_encrypted = self._open_context.unwrap(frame[4:])
        if self._agreed() == LAYERS["auth-conf"] and not was_encrypted:
            raise GssError("the server sent a frame that is not encrypted, although auth-conf was agreed", 0)
        return content


def chosen_layer(offered: int, qop: str | None) -> int:
    """Return the bit of `qop`, or of the strongest layer that is offered. Raises ProtectionRefused."""
    acceptable = LAYERS.values() if qop is None else [LAYERS[qop]]
    fitting = [layer for layer in acceptable if layer & offered]
    if not fitting:
        names = [name for name, layer in LAYERS.items() if layer & offered]
        raise ProtectionRefused(
            f"the server offers the protection {', '.join(names) or 'none'}, the map asks for {qop or 'any'}",
            0,
        )
    return max(fitting)

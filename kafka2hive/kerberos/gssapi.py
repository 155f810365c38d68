"""The few calls of GSSAPI (RFC 2744) that a client needs, made by ctypes to MIT's library.

This needs no compiler and no package; hdfs-native loads the same library. Calls take and return bytes, and raise
GssError.
"""

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kafka2hive.config.machine import GSSAPI_LIBRARY

_INITIATE: Final = 1
_CONTINUE_NEEDED: Final = 1
_MUTUAL, _REPLAY, _SEQUENCE, _CONFIDENTIALITY, _INTEGRITY = 2, 4, 8, 16, 32
_REQUESTED: Final = _MUTUAL | _REPLAY | _SEQUENCE | _CONFIDENTIALITY | _INTEGRITY
_ERRORS: Final = 0xFFFF0000
_OF_GSSAPI, _OF_MECHANISM = 1, 2
_KERBEROS_OID = ctypes.create_string_buffer(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02", 9)
_SERVICE_OID = ctypes.create_string_buffer(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04", 10)
_PRINCIPAL_OID = ctypes.create_string_buffer(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01", 10)
# The base of krb5's error table: an error of a KDC or of a server is this plus its number in RFC 4120.
_TABLE = -1765328384


class GssError(Exception):
    """A failed call; `minor` is the error code of Kerberos; `meaning` gives its remedy."""

    def __init__(self, text: str, minor: int) -> None:
        super().__init__(text)
        self.minor = minor


class Buffer(Structure):
    """The C structure gss_buffer_desc."""

    _fields_ = (("length", c_size_t), ("value", c_void_p))


class Oid(Structure):
    """The C structure gss_OID_desc."""

    _fields_ = (("length", c_uint32), ("elements", c_void_p))


class OidSet(Structure):
    """The C structure gss_OID_set_desc."""

    _fields_ = (("count", c_size_t), ("elements", POINTER(Oid)))


class Pair(Structure):
    """The C structure gss_key_value_element_desc."""

    _fields_ = (("key", c_char_p), ("value", c_char_p))


class Pairs(Structure):
    """The C structure gss_key_value_set_desc."""

    _fields_ = (("count", c_uint32), ("elements", POINTER(Pair)))


def _oid(raw: Any) -> Oid:
    return Oid(len(raw), ctypes.cast(raw, c_void_p))


_KERBEROS, _SERVICE_NAME, _PRINCIPAL_NAME = map(_oid, (_KERBEROS_OID, _SERVICE_OID, _PRINCIPAL_OID))


@cache
def _library() -> Any:
    return ctypes.CDLL(GSSAPI_LIBRARY)


def _call(name: str, *arguments: Any) -> int:
    """Call a function whose first argument is the minor status; return the major one. Raises GssError."""
    minor = c_uint32()
    function = getattr(_library(), name)
    function.restype = c_uint32
    major = int(function(byref(minor), *arguments))
    if major & _ERRORS:
        texts = [text for text in (_text(major, _OF_GSSAPI), _text(minor.value, _OF_MECHANISM)) if text]
        raise GssError(texts[-1] if minor.value else "; ".join(texts), minor.value)
    return major


def _text(status: int, kind: int) -> str:
    more, text = c_uint32(), Buffer()
    _library().gss_display_status(
        byref(c_uint32()), c_uint32(status), c_int(kind), byref(_KERBEROS), byref(more), byref(text)
    )
    return _release(text).decode(errors="replace")


def _release(buffer: Buffer) -> bytes:
    """Return the bytes of a buffer that the library has filled, and release it."""
    content = ctypes.string_at(buffer.value, buffer.length) if buffer.length else b""
    _library().gss_release_buffer(byref(c_uint32()), byref(buffer))
    return content


def _buffer_of(content: bytes) -> tuple[Buffer, Any]:
    """Return a buffer with `content`, and the object that must stay alive as long as the buffer is used."""
    memory = ctypes.create_string_buffer(content, len(content))
    return Buffer(len(content), ctypes.cast(memory, c_void_p)), memory


class Name:
    """A name in GSSAPI: a principal, or a service such as `hive@host`."""

    def __init__(self, text: str, *, of_service: bool) -> None:
        self.handle = c_void_p()
        buffer, _content = _buffer_of(text.encode())
        kind = _SERVICE_NAME if of_service else _PRINCIPAL_NAME
        _call("gss_import_name", byref(buffer), byref(kind), byref(self.handle))

    def __del__(self) -> None:
        _library().gss_release_name(byref(c_uint32()), byref(self.handle))


class Credentials:
    """Credentials of `principal` (None: of whichever the store holds).

    `store` has the keys of MIT's credential store: client_keytab and ccache. Raises GssError.
    """

    def __init__(self, principal: str | None, store: dict[str, str]) -> None:
        self.handle = c_void_p()
        name = Name(principal, of_service=False) if principal else None
        elements = (Pair * len(store))(*(Pair(key.encode(), value.encode()) for key, value in store.items()))
        mechanisms = OidSet(1, ctypes.pointer(_KERBEROS))
        _call(
            "gss_acquire_cred_from",
            name.handle if name else None,
            c_uint32(0),
            byref(mechanisms),
            c_int(_INITIATE),
            byref(Pairs(len(store), elements)),
            byref(self.handle),
            None,
            None,
        )

    def __del__(self) -> None:
        _library().gss_release_cred(byref(c_uint32()), byref(self.handle))


class Context:
    """A client's security context with one service."""

    def __init__(self, service: Name, credentials: Credentials | None) -> None:
        self._service, self._credentials = service, credentials
        self._handle = c_void_p()

    def step(self, challenge: bytes) -> tuple[bytes, bool]:
        """Return the next token for the server, and whether the context is established."""
        token, (input_buffer, _content) = Buffer(), _buffer_of(challenge)
        major = _call(
            "gss_init_sec_context",
            self._credentials.handle if self._credentials else None,
            byref(self._handle),
            self._service.handle,
            byref(_KERBEROS),
            c_uint32(_REQUESTED),
            c_uint32(0),
            None,
            byref(input_buffer) if challenge else None,
            None,
            byref(token),
            byref(c_uint32()),
            None,
        )
        return _release(token), not major & _CONTINUE_NEEDED

    def wrap(self, content: bytes, *, encrypt: bool) -> bytes:
        """Return the content signed, and encrypted if `encrypt` is set."""
        wrapped, (input_buffer, _content) = Buffer(), _buffer_of(content)
        _call(
            "gss_wrap", self._handle, c_int(encrypt), c_uint32(0), byref(input_buffer), None, byref(wrapped)
        )
        return _release(wrapped)

    def unwrap(self, content: bytes) -> tuple[bytes, bool]:
        """Verify the signature; return the content, and whether it was encrypted."""
        unwrapped, was_encrypted, (input_buffer, _content) = Buffer(), c_int(), _buffer_of(content)
        _call(
            "gss_unwrap",
            self._handle,
            byref(input_buffer),
            byref(unwrapped),
            byref(was_encrypted),
            byref(c_uint32()),
        )
        return _release(unwrapped), bool(was_encrypted.value)

    def __del__(self) -> None:
        _library().gss_delete_sec_context(byref(c_uint32()), byref(self._handle), None)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The remedy for an error of Kerberos. If `is_outage`, a retry may succeed without any change."""

    remedy: str
    is_outage: bool = False


_KDC_AWAY = Meaning("is the KDC up, and does krb5.conf (KRB5_CONFIG) name it?", is_outage=True)
_NO_TICKET = Meaning(
    "write kerberos with principal and keytab into the map, or keep a ticket in the cache (kinit, k5start)"
)
_EXPIRED = Meaning(
    "the ticket has expired: renew the cache (kinit, k5start), or let the map name a keytab; with a keytab: the clock of"
    " this machine is ahead of the KDC's by more than a ticket's life"
)
_CLOCKS = Meaning("set the clocks of this machine, the KDC and the server by NTP")
_SERVICE = Meaning(
    "the KDC has no such service: the host of the URL (a name, no address) and service= must be those of the"
    " server's principal, service/host@REALM"
)
_KEY = Meaning("the keytab holds an old key or another principal's: export it again with ktadd")
_REALM = Meaning(
    "krb5.conf (KRB5_CONFIG) does not know the realm: correct the principal, or add the realm and its KDC"
)

_MEANINGS = {
    _TABLE + 1: Meaning("the principal has expired: have the realm's administrator renew it"),
    _TABLE + 6: Meaning("the KDC does not know the principal: correct kerberos.principal, or have it created"),
    _TABLE + 7: _SERVICE,
    _TABLE + 18: Meaning("the principal is locked: have the realm's administrator unlock it"),
    _TABLE + 23: Meaning("the principal's key has expired: have its keytab exported again"),
    _TABLE + 24: _KEY,
    _TABLE + 31: _KEY,
    _TABLE + 32: _EXPIRED,
    _TABLE + 33: _CLOCKS,
    _TABLE + 37: _CLOCKS,
    -1765328236: _CLOCKS,
    _TABLE + 68: _REALM,
    -1765328230: _REALM,
    -1765328228: _KDC_AWAY,
    -1765328164: _KDC_AWAY,
    -1765328243: _NO_TICKET,
    -1765328189: _NO_TICKET,
    -1765328203: _KEY,
}  # fmt: skip


def meaning(minor: int) -> Meaning | None:
    """Return the meaning of a minor status (krb5.h; RFC 4120, 7.5.9), signed or unsigned; None if the code is not listed."""
    return _MEANINGS.get(minor - (1 << 32) if minor > 1 << 31 else minor)

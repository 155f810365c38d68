"""Remedies for Kerberos errors by minor code (krb5.h; RFC 4120, 7.5.9)."""

from dataclasses import dataclass

# The base of krb5's error table: an error of a KDC or of a server is this plus its number in RFC 4120.
_TABLE = -1765328384


@dataclass(frozen=True, slots=True)
class Meaning:
    """The remedy for an error. If `is_outage`, a retry may succeed without any change."""

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
    """Return the meaning of a minor status as GSSAPI returns it, signed or unsigned; None if the code is not listed."""
    return _MEANINGS.get(minor - (1 << 32) if minor > 1 << 31 else minor)

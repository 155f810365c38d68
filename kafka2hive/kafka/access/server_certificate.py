"""Why a broker's certificate is not trusted: librdkafka says only that it is not. Asked by a TLS handshake of our own."""

import socket
import ssl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kafka2hive.kafka.access.refusal import UNTRUSTED, Refusal

_SECONDS = 5.0
# X509_V_ERR_*: CERT_NOT_YET_VALID, CERT_HAS_EXPIRED; HOSTNAME_MISMATCH, IP_ADDRESS_MISMATCH.
_TIME = frozenset({9, 10})
_NAME = frozenset({62, 64})


def explained(refusal: Refusal, properties: Mapping[str, str]) -> Refusal:
    """The refusal of a broker's certificate with its reason: expired, of another host, of an unknown authority.

    Connects once, within seconds, and sends nothing behind the handshake. Unchanged when that says nothing new.
    """
    host, colon, port = refusal.broker.rpartition(":")
    if refusal.code != UNTRUSTED or not colon:
        return refusal
    try:
        context = _context(properties)
        with socket.create_connection((host, int(port)), timeout=_SECONDS) as connection:
            context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return _told(refusal, error)
    except (OSError, ValueError):
        return refusal
    return refusal


def _told(refusal: Refusal, error: ssl.SSLCertVerificationError) -> Refusal:
    why = f"the broker's certificate is not trusted: {error.verify_message}"
    if error.verify_code in _TIME:
        remedy = "renew the broker's certificate; check this machine's clock"
        return replace(refusal, code="kafka.tls_expired", why=why, remedy=remedy)
    if error.verify_code in _NAME:
        remedy = "name the brokers in bootstrap.servers and advertised.listeners as their certificates do"
        return replace(refusal, code="kafka.tls_hostname", why=why, remedy=remedy)
    return replace(refusal, why=why)


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """What librdkafka trusts by these properties. Raises OSError (ssl.SSLError) for what is no certificate."""
    place, text = properties.get("ssl.ca.location", ""), properties.get("ssl.ca.pem")
    folder = place if place and Path(place).is_dir() else None
    file = place if place and folder is None and place != "probe" else None
    context = ssl.create_default_context(cafile=file, capath=folder, cadata=text)
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != "none"
    return context

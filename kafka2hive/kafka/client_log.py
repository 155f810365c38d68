"""Forward the log of a librdkafka client without repetitions, and find in it the reasons why brokers refuse the client.

librdkafka retries for ever after a refusal and reports it only in its log; the requests just time out. The patterns match
lines from real brokers (tests/integration/test_kafka_access.py produces each of them).
"""

import logging
import re
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

UNTRUSTED = "kafka.tls_untrusted"
# An equal line is forwarded only once in this time: a client retries several times a second while a broker is down.
_SILENT_SECONDS = 60.0
_MOST_ENTRIES = 64
# A refused client logs the refusal again within this time: librdkafka waits at most 10 s between tries.
_REPEAT_SECONDS = 12.0
_CONNECT_SECONDS = 5.0
# X509_V_ERR_*: CERT_NOT_YET_VALID, CERT_HAS_EXPIRED; HOSTNAME_MISMATCH, IP_ADDRESS_MISMATCH.
_TIME_ERRORS = frozenset({9, 10})
_NAME_ERRORS = frozenset({62, 64})


@dataclass(frozen=True, slots=True)
class ClientRefusal:
    """One refusal. `certain` is False if a broker that stops or restarts causes the same line."""

    code: str
    broker: str
    why: str
    remedy: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    code: str
    meaning: str
    remedy: str
    certain: bool = True


def _rule(pattern: str, code: str, meaning: str, remedy: str, certain: bool = True) -> _Rule:
    return _Rule(
        pattern=re.compile(pattern, re.IGNORECASE | re.DOTALL),
        code=code,
        meaning=meaning,
        remedy=remedy,
        certain=certain,
    )


_LISTENER = "set security.protocol in the map's kafka section to what this port of the broker speaks"
# The first rule that matches decides.
_RULES = (
    _rule(
        r"certificate verify failed",
        UNTRUSTED,
        "the broker's certificate is not trusted",
        "set ssl.ca.location in the map's kafka section to the authority that signed the brokers' certificates",
    ),
    _rule(
        r"alert (bad certificate|certificate|unknown ca|unsupported certificate|access denied|no certificate)",
        "kafka.tls_client",
        "the broker refuses the client's certificate, or the client sent none",
        "set ssl.certificate.location and ssl.key.location, or ssl.keystore.location, to a valid certificate of an"
        " authority that the brokers trust",
    ),
    _rule(
        # the second text appears if the broker closes the connection before librdkafka's first read
        r"connecting to a PLAINTEXT broker listener|closed by peer.*state SSL_HANDSHAKE|wrong version number",
        "kafka.listener",
        "the port does not speak TLS",
        _LISTENER,
        certain=False,
    ),
    _rule(
        r"not valid in current SASL state",
        "kafka.listener",
        "the port does not accept SASL",
        _LISTENER,
    ),
    _rule(
        r"mechanism handshake failed|unsupported SASL mechanism",
        "kafka.mechanism",
        "the broker does not offer the SASL mechanism",
        "set sasl.mechanisms in the map's kafka section to one that the broker offers",
    ),
    _rule(
        r"OIDC token|OAUTHBEARER token",
        "kafka.token",
        "the client got no token for OAUTHBEARER",
        "check sasl.oauthbearer.token.endpoint.url, client.id and client.secret in the map's kafka section",
    ),
    _rule(
        r"SASL .*(error|failed)|kinit|kerberos ticket",
        "kafka.credentials",
        "the broker refuses the credentials",
        "correct the user, password, token or keytab in the map's kafka section; a running service keeps the old ones"
        " until it is restarted",
    ),
    _rule(
        r"connection closed by peer.*state (APIVERSION_QUERY|UP|AUTH_HANDSHAKE)",
        "kafka.listener",
        "the broker ends each connection before its first answer: the port may speak another protocol",
        _LISTENER,
        certain=False,
    ),
)
# `FAIL [rdkafka#producer-1] [thrd:..]: sasl_ssl://host:9093/bootstrap: SASL authentication error: .. (after 3ms in state X)`
_HEAD = re.compile(
    r"^(?:[A-Z]+ \[[^\]]*\] (?:\[[^\]]*\]: )?)?(?:(?P<broker>(?:\w+://)?[^\s/]+:\d+)/\w+: )?(?P<text>.*)$",
    re.DOTALL,
)
_TAIL = re.compile(r" \(after \d+ms in state (?P<state>\w+)[^)]*\)")


class ClientLog(logging.Handler):
    """A handler whose `logger` belongs to one client. Lines arrive in the thread that polls the client, during the poll."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self._log = log
        self._logged_at: dict[tuple[str, str], float] = {}
        self._refusals: dict[tuple[str, str], tuple[float, ClientRefusal]] = {}
        self._last: tuple[float, str] | None = None
        self.logger = logging.Logger(log.name)
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        now = time.monotonic()
        key = broker_and_text(line)
        refusal = refusal_of(line)
        if refusal is not None:
            place = (refusal.broker, refusal.code)
            self._refusals.pop(place, None)  # moves it to the end: gravest prefers the latest
            self._refusals[place] = (now, refusal)
        if record.levelno >= logging.ERROR:
            self._last = (now, f"{key[0]}: {key[1]}" if key[0] else key[1])
        if now - self._logged_at.get(key, -_SILENT_SECONDS) >= _SILENT_SECONDS:
            self._logged_at[key] = now
            # the client tries again by itself, so its line is no error of the run: what fails for the run is logged as such
            self._log.log(min(record.levelno, logging.WARNING), "%s", line)
        for entries in (self._logged_at, self._refusals):
            while len(entries) > _MOST_ENTRIES:
                del entries[next(iter(entries))]  # the oldest

    def refusal(self, since: float) -> ClientRefusal | None:
        """Return why brokers refuse the client, or None.

        Refusals from shortly before `since` (time.monotonic) count too: the client may be waiting for its next try.
        """
        recent = since - _REPEAT_SECONDS
        return gravest(refusal for at, refusal in list(self._refusals.values()) if at >= recent)

    def trouble(self, since: float) -> str:
        """Return the last error logged since shortly before `since` (time.monotonic); empty if there was none."""
        recent = since - _REPEAT_SECONDS
        return self._last[1] if self._last is not None and self._last[0] >= recent else ""


def broker_and_text(line: str) -> tuple[str, str]:
    """Return the broker that a line names (empty if none) and the line's text without times."""
    match = _HEAD.match(line)
    assert match is not None, line  # the pattern matches any text
    broker = (match["broker"] or "").rpartition("://")[2]
    return broker, _TAIL.sub("", match["text"]).strip()


def refusal_of(line: str) -> ClientRefusal | None:
    """Return the refusal that a line reports, None if it reports none."""
    for rule in _RULES:
        if rule.pattern.search(line):
            broker, text = broker_and_text(line)
            return ClientRefusal(
                code=rule.code,
                broker=broker,
                why=f"{rule.meaning}: {text}",
                remedy=rule.remedy,
                certain=rule.certain,
            )
    return None


def gravest(refusals: Iterable[ClientRefusal]) -> ClientRefusal | None:
    """Return the last certain refusal, or the last uncertain one if none is certain; None if there are no refusals."""
    chosen: ClientRefusal | None = None
    for refusal in refusals:
        if chosen is None or refusal.certain >= chosen.certain:
            chosen = refusal
    return chosen


def explain(refusal: ClientRefusal, properties: Mapping[str, str]) -> ClientRefusal:
    """Return a certificate refusal with its reason: expired, for another host, or from an unknown authority.

    Connects to the broker once, for at most 5 seconds, and sends nothing after the handshake. Any other refusal, and one
    whose reason the handshake does not show, is returned unchanged.
    """
    host, colon, port = refusal.broker.rpartition(":")
    if refusal.code != UNTRUSTED or not colon:
        return refusal
    try:
        context = _context(properties)
        with socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS) as connection:
            context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return _with_reason(refusal, error)
    except (OSError, ValueError):
        return refusal
    return refusal


def _with_reason(refusal: ClientRefusal, error: ssl.SSLCertVerificationError) -> ClientRefusal:
    why = f"the broker's certificate is not trusted: {error.verify_message}"
    if error.verify_code in _TIME_ERRORS:
        remedy = "renew the broker's certificate; check this machine's clock"
        return replace(refusal, code="kafka.tls_expired", why=why, remedy=remedy)
    if error.verify_code in _NAME_ERRORS:
        remedy = "name the brokers in bootstrap.servers and advertised.listeners as their certificates do"
        return replace(refusal, code="kafka.tls_hostname", why=why, remedy=remedy)
    return replace(refusal, why=why)


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that trusts what librdkafka trusts. Raises OSError (ssl.SSLError) for an invalid certificate."""
    location, text = properties.get("ssl.ca.location", ""), properties.get("ssl.ca.pem")
    folder = location if location and Path(location).is_dir() else None
    file = location if location and folder is None and location != "probe" else None
    context = ssl.create_default_context(cafile=file, capath=folder, cadata=text)
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != "none"
    return context

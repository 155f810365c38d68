"""Why brokers refuse a client, read from librdkafka's log lines: its questions themselves only time out. Pure.

librdkafka retries each refusal for ever and tells no caller of it. Its lines were taken from real brokers
(tests/integration/test_kafka_access.py makes each of them).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

UNTRUSTED = "kafka.tls_untrusted"


@dataclass(frozen=True, slots=True)
class Refusal:
    """`certain` is False where a broker that ends, or restarts, leaves the same line."""

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
        "the broker refuses the client's certificate, or misses one",
        "set ssl.certificate.location and ssl.key.location, or ssl.keystore.location, to a valid certificate of an"
        " authority that the brokers trust",
    ),
    _rule(
        # librdkafka says the second where the broker's end of the connection comes within its first look for an answer
        r"connecting to a PLAINTEXT broker listener|closed by peer.*state SSL_HANDSHAKE|wrong version number",
        "kafka.listener",
        "the port does not speak TLS",
        _LISTENER,
        certain=False,
    ),
    _rule(
        r"not valid in current SASL state",
        "kafka.listener",
        "the port does not take SASL",
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
        "no token for OAUTHBEARER",
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
    r"^(?:[A-Z]+ \[[^\]]*\] (?:\[[^\]]*\]: )?)?(?:(?P<broker>(?:\w+://)?[^\s/]+:\d+)/\w+: )?(?P<said>.*)$",
    re.DOTALL,
)
_TAIL = re.compile(r" \(after \d+ms in state (?P<state>\w+)[^)]*\)")


def said(line: str) -> tuple[str, str]:
    """The broker that a line is about, empty when it names none, and what it says, without times."""
    found = _HEAD.match(line)
    assert found is not None, line  # the pattern takes any text
    broker = (found["broker"] or "").rpartition("://")[2]
    return broker, _TAIL.sub("", found["said"]).strip()


def refusal_of(line: str) -> Refusal | None:
    """What a line says about the way in; None: it is about something else."""
    for rule in _RULES:
        if rule.pattern.search(line):
            broker, words = said(line)
            return Refusal(
                code=rule.code,
                broker=broker,
                why=f"{rule.meaning}: {words}",
                remedy=rule.remedy,
                certain=rule.certain,
            )
    return None


def gravest(refusals: Iterable[Refusal]) -> Refusal | None:
    """A certain one before an uncertain one; among equals the last one heard."""
    chosen: Refusal | None = None
    for refusal in refusals:
        if chosen is None or refusal.certain >= chosen.certain:
            chosen = refusal
    return chosen

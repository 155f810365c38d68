"""The Kafka client's properties: which ones the map must not set, which ones exist, and which values the client accepts."""

import re
from collections.abc import Mapping

OWNED = {
    "auto.offset.reset": "use `start`: a silent jump to another offset would lose records",
    "enable.auto.commit": "positions are in the ledgers; use commit_group for lag tools",
    "auto.commit.enable": "positions are in the ledgers; use commit_group for lag tools",
    "auto.commit.interval.ms": "positions are in the ledgers; use commit_group for lag tools",
    "enable.auto.offset.store": "positions are in the ledgers; use commit_group for lag tools",
    "offset.store.method": "positions are in the ledgers",
    "offset.store.path": "positions are in the ledgers",
    "enable.partition.eof": "kafka2hive sets it, to find the end of a log",
    "group.instance.id": "topic partitions are assigned by the planner, not by the group",
    "partition.assignment.strategy": "topic partitions are assigned by the planner, not by the group",
    "group.remote.assignor": "topic partitions are assigned by the planner, not by the group",
    "group.protocol": "topic partitions are assigned by the planner, not by the group",
    "metadata.broker.list": "write bootstrap.servers",
    "max.poll.interval.ms": "topic partitions are assigned by the planner, not by the group",
    "plugin.library.paths": "it loads foreign code into the service",
    "ssl.engine.location": "it loads foreign code into the service",
    "sasl.jaas.config": "it is a property of Java clients; write sasl.username and sasl.password",
    "ssl.truststore.location": "it is a property of Java clients; write ssl.ca.location with a PEM file",
}
FIXED_VALUES = {
    "isolation.level": ("read_committed", "records of aborted transactions must not reach a table"),
    "allow.auto.create.topics": ("false", "reading must not create topics"),
    "check.crcs": ("true", "the checksums of all records must be checked"),
}
_NAMES = """
api.version.request api.version.request.timeout.ms bootstrap.servers broker.address.family broker.address.ttl
broker.version.fallback builtin.features client.dns.lookup client.id client.rack connections.max.idle.ms
coordinator.query.interval.ms debug enable.metrics.push enable.random.seed enable.sasl.oauthbearer.unsecure.jwt
enable.sparse.connections enable.ssl.certificate.verification fetch.error.backoff.ms fetch.max.bytes
fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id heartbeat.interval.ms
https.ca.location https.ca.pem internal.termination.signal log.connection.close log.queue log.thread.name log_level
max.in.flight max.in.flight.requests.per.connection max.partition.fetch.bytes message.copy.max.bytes message.max.bytes
metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy plugin.library.paths
queued.max.messages.kbytes queued.min.messages receive.message.max.bytes reconnect.backoff.max.ms reconnect.backoff.ms
retry.backoff.max.ms retry.backoff.ms sasl.kerberos.keytab sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.principal sasl.kerberos.service.name sasl.mechanism
sasl.mechanisms sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.jwt.template.file
sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.id sasl.oauthbearer.client.secret
sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.grant.type
sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.method sasl.oauthbearer.scope
sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url sasl.password sasl.username security.protocol
session.timeout.ms socket.connection.setup.timeout.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms ssl.ca.location ssl.ca.pem
ssl.certificate.location ssl.certificate.pem ssl.cipher.suites ssl.crl.location ssl.curves.list
ssl.endpoint.identification.algorithm ssl.engine.id ssl.key.location ssl.key.password ssl.key.pem
ssl.keystore.location ssl.keystore.password ssl.providers ssl.sigalgs.list statistics.interval.ms
test.mock.broker.rtt test.mock.num.brokers topic.blacklist topic.metadata.propagation.max.ms
topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
"""
NAMES = frozenset(_NAMES.split())
_MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "security.protocol": ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    "sasl.mechanism": _MECHANISMS,
    "sasl.mechanisms": _MECHANISMS,
    "broker.address.family": ("any", "v4", "v6"),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "ssl.endpoint.identification.algorithm": ("none", "https"),
    "metadata.recovery.strategy": ("none", "rebootstrap"),
    "sasl.oauthbearer.method": ("default", "oidc"),
}
"""The values of properties that have few. librdkafka accepts any mechanism of SASL and fails to log in."""
_GSSAPI = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanisms": "GSSAPI",
    "sasl.kerberos.kinit.cmd": "true",
}
_WRONG_VALUE = re.compile(r"Invalid value|Expected bool value|outside allowed range")
_ALLOWED_RANGE = re.compile(r"outside allowed range (-?[0-9]+)\.\.(-?[0-9]+)")
_NO_NUMBER = "Invalid value for configuration property"
_TOO_GREAT = "99999999999"
"""A number beyond most ranges; the refusal names the range."""
_CONTEXTS = (
    "generic",
    "broker",
    "topic",
    "metadata",
    "feature",
    "queue",
    "msg",
    "protocol",
    "cgrp",
    "security",
    "fetch",
    "interceptor",
    "plugin",
    "consumer",
    "admin",
    "eos",
    "mock",
    "assignor",
    "conf",
    "telemetry",
    "all",
)
"""The values of `debug`, separated by commas."""
_SENSITIVE = re.compile(
    r"password|passphrase|secret|\.pem$|oauthbearer\.config|token$|credential", re.IGNORECASE
)


def is_sensitive(name: str) -> bool:
    """Return whether a property of Kafka, Hadoop or Spark is a secret, judged by its name."""
    return _SENSITIVE.search(name) is not None


def uses_gssapi(properties: Mapping[str, str]) -> bool:
    """Return whether these properties make the client log in with Kerberos, librdkafka's default for SASL."""
    mechanism = properties.get("sasl.mechanisms") or properties.get("sasl.mechanism") or "GSSAPI"
    is_sasl = properties.get("security.protocol", "").lower().startswith("sasl_")
    return is_sasl and mechanism.upper() == "GSSAPI"


def has_gssapi() -> bool:
    """Return whether the installed client was built with Kerberos; the wheels of the package index were not."""
    return "No provider for SASL mechanism" not in (_refusal(_GSSAPI) or "")


def fault_of_value(name: str, value: object) -> str:
    """Return why the installed library refuses the value of a known property, empty if it accepts it.

    The text never contains the value, which may be a secret. A value is not at fault if this machine lacks what it names (a
    file, a SASL mechanism).
    """
    if is_sensitive(name) or not isinstance(value, str | int | float):
        return ""
    if name in CHOICES and str(value).lower() not in map(str.lower, CHOICES[name]):
        return f"expected {', '.join(CHOICES[name])}"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    refusal = _refusal({name: text}) or ""
    if "Expected bool value" in refusal:
        return "expected true or false"
    if limits := _ALLOWED_RANGE.search(refusal):
        return f"expected a number from {limits[1]} to {limits[2]}"
    if name == "debug" and _WRONG_VALUE.search(refusal):
        return f"expected one or several of {', '.join(_CONTEXTS)}"
    if _NO_NUMBER in refusal:
        limits = _ALLOWED_RANGE.search(_refusal({name: _TOO_GREAT}) or "")
        return f"expected a number from {limits[1]} to {limits[2]}" if limits else "expected a whole number"
    return "librdkafka refuses this value" if _WRONG_VALUE.search(refusal) else ""


def is_property(name: str) -> bool:
    """Return whether the client knows the property: it is in NAMES, or the installed library accepts its name."""
    if name in NAMES:
        return True
    refusal = _refusal({name: ""})
    return refusal is not None and "No such configuration property" not in refusal


def _refusal(properties: Mapping[str, str]) -> str | None:
    """Return the installed library's error for these properties, empty if it accepts them.

    None means that one of them belongs to the Python client, such as a callback, and must not be a string.
    """
    from confluent_kafka import Consumer, KafkaException

    try:
        Consumer({"group.id": "validate", "log_level": 0, **properties}).close()
    except KafkaException as error:
        return str(error)
    except (TypeError, AttributeError):
        return None
    return ""

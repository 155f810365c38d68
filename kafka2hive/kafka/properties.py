"""The map's librdkafka properties as each kind of client may have them; nothing secret gets into a message."""

import re

from kafka2hive.config.values import KafkaOptions

# Properties of consumers only: librdkafka warns about each one that an admin client is given (its CONFIGURATION.md,
# column C/P).
_CONSUMER_ONLY = re.compile(
    r"(group\.|auto\.(offset|commit)|enable\.(auto|partition)|fetch\.|max\.poll|session\.timeout|heartbeat"
    r"|isolation\.level|queued\.(min|max)|check\.crcs|consume\.|offset\.store|partition\.assignment|receive\.message\.max"
    r"|max\.partition\.fetch|coordinator\.query)"
)
_SECRET = re.compile(r"password|secret|token|jaas|\.pem$|\.key$|sasl\.oauthbearer\.config", re.IGNORECASE)
# librdkafka waits 30 s for a connection; a broker that takes 10 s is as good as away.
_DEFAULT_CONNECT_MS = "10000"


def brokers(options: KafkaOptions) -> str:
    return dict(options.properties).get("bootstrap.servers", "(no bootstrap.servers)")


def admin_properties(options: KafkaOptions) -> dict[str, str]:
    given = {key: value for key, value in options.properties if not _CONSUMER_ONLY.match(key)}
    return {"socket.connection.setup.timeout.ms": _DEFAULT_CONNECT_MS, **given}


def reader_properties(options: KafkaOptions, timeout_seconds: float) -> dict[str, str]:
    """What a consumer is given that asks one question within its time limit, and joins no group."""
    limit = str(max(1000, int(timeout_seconds * 1000)))
    return {
        "socket.connection.setup.timeout.ms": _DEFAULT_CONNECT_MS,
        **dict(options.properties),
        "group.id": options.group,
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "auto.offset.reset": "error",
        "enable.partition.eof": "true",
        # closing a reader waits for the answer to what it has sent, and a commit for its coordinator for this long
        "socket.timeout.ms": limit,
        "session.timeout.ms": limit,
        "heartbeat.interval.ms": "500",
    }


def without_secrets(text: str, options: KafkaOptions) -> str:
    """`text` with the value of every property that looks secret redacted."""
    for key, value in options.properties:
        if value and _SECRET.search(key):
            text = text.replace(value, "***")
    return text

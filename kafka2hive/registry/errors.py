"""The registry's errors besides SchemaRegistryUnavailable. Each sets the table aside, none makes a dead letter."""

from kafka2hive.model.errors import TableError


def refused(url: str, status: int) -> TableError:
    return TableError(
        "registry.denied",
        f"the schema registry {url} does not accept the map's credentials ({status})",
        "correct username and password or token of the registry section, or grant this user the right to read schemas",
    )


def foreign(url: str, why: str) -> TableError:
    """What was answered is not what a registry answers."""
    return TableError(
        "registry.answer",
        f"{url} does not answer as a schema registry does: {why}",
        "correct registry.url: it ends where /schemas/ids begins, e.g. http://host:8081 or http://host:8080/apis/ccompat/v7",
    )


def untrusted(url: str, why: str) -> TableError:
    """TLS: one side does not trust the other, or a file of the map is not usable."""
    return TableError(
        "registry.tls",
        f"no TLS connection to the schema registry {url}: {why}",
        "correct ca_file, certificate_file and key_file of the registry section (on every machine with executors)",
    )


def too_many_unknown(urls: str, count: int) -> TableError:
    return TableError(
        "registry.unknown_ids",
        f"{count} different schema ids within a minute are unknown to the schema registry {urls}",
        "are these records in Confluent's wire format, and is this their registry? Correct format, the schema in the map or "
        "registry.url",
    )

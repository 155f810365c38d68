"""The authorities that HiveServer2's certificate must be signed by, as this machine has them."""

import ssl

from kafka2hive.model.errors import ConfigError


def hive_tls(ca_file: str | None) -> ssl.SSLContext:
    """TLS 1.2 and later, the certificate and its host name checked; None: the system's authorities. Raises ConfigError."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            "hive.ca_file",
            f"the authorities of hive.ca_file {ca_file} cannot be read: {error}",
            "name a PEM file that the service's user can read",
        ) from None

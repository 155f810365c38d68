"""Who the service is to a Kerberos realm: one section of the map for HDFS, Hive and Kafka, and the same in each of theirs."""

from dataclasses import dataclass
from typing import Annotated

from kafka2hive.config.values.key import Key


@dataclass(frozen=True, slots=True)
class KerberosOptions:
    """A principal with its keytab, or with a ticket cache that something else renews.

    Paths and names, no secrets: a keytab's content never enters the program.
    """

    principal: Annotated[str, Key("`name@REALM` or `name/host@REALM`.")]
    keytab: Annotated[
        str | None,
        Key("Full path of its keytab, on every machine with executors.", written="local path"),
    ] = None
    cache: Annotated[
        str | None,
        Key("Instead of `keytab`: a ticket cache, `FILE:/path`, that something else renews."),
    ] = None

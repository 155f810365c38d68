"""Who the service is to a Kerberos realm: one section of the map for HDFS, Hive and Kafka, and the same in each of theirs."""

from dataclasses import dataclass
from typing import Annotated

from kafka2hive.config.values.key import Key


@dataclass(frozen=True, slots=True)
class KerberosOptions:
    """A principal with its keytab, or with a ticket cache that something else renews.

    Paths and names, no secrets: a keytab's content never enters the program.
    """

    principal: Annotated[str, Key("Who the service logs in as, `name@REALM` or `name/host@REALM`.")]
    keytab: Annotated[
        str | None,
        Key("Full local path of the principal's keytab, the same on every machine with executors."),
    ] = None
    cache: Annotated[
        str | None,
        Key(
            "Ticket cache instead of a keytab, `FILE:/path` or `/path`; something else renews it (k5start, a timer with kinit)."
        ),
    ] = None

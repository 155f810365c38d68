"""The HiveServer2s that are registered in ZooKeeper, as HDP and CDP publish them."""

import logging
import random
from dataclasses import replace

from kafka2hive.config.keys import HiveOptions
from kafka2hive.config.machine import kazoo_package_missing
from kafka2hive.model.metastore import MetastoreUnavailable

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 8.0
_PREFIX = "serverUri="


def servers_of(options: HiveOptions) -> tuple[HiveOptions, ...]:
    """Return the options of each HiveServer2: the hosts of the map, or those registered in its ZooKeeper, in any order.

    Raises MetastoreUnavailable (ZooKeeper does not answer, or has no server), ConfigError (kazoo is not installed).
    """
    if options.namespace is None:
        return options.servers
    quorum = ",".join(f"{each.host}:{each.port}" for each in options.servers)
    addresses = _find_addresses(quorum, options.namespace, has_http=options.http_path is not None)
    random.shuffle(addresses)  # services spread over the servers
    return tuple(
        replace(options, host=host, port=port, further_hosts=(), namespace=None) for host, port in addresses
    )


def _find_addresses(quorum: str, namespace: str, *, has_http: bool) -> list[tuple[str, int]]:
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException, NoNodeError
        from kazoo.handlers.threading import KazooTimeoutError
    except ImportError:
        raise kazoo_package_missing() from None

    quiet = log.getChild("kazoo")
    quiet.setLevel(logging.ERROR)
    client = KazooClient(quorum, timeout=_PATIENCE_SECONDS, read_only=True, logger=quiet)
    where = f"ZooKeeper at {quorum}"
    found: list[tuple[str, int]] = []
    try:
        client.start(_PATIENCE_SECONDS)
        for name in sorted(client.get_children(f"/{namespace}")):
            if name.startswith(_PREFIX):  # the others are locks and settings
                try:
                    content, _ = client.get(f"/{namespace}/{name}")
                except NoNodeError:
                    continue  # this server has just ended
                address = parse_node(name, content, has_http=has_http)
                if address is None:
                    log.warning("%s: the entry %s of /%s names no host and port", where, name, namespace)
                else:
                    found.append(address)
    except NoNodeError:
        raise MetastoreUnavailable(
            f"{where} has no /{namespace}: correct zooKeeperNamespace in hive.url, or turn on"
            " hive.server2.support.dynamic.service.discovery in HiveServer2"
        ) from None
    except (KazooTimeoutError, KazooException, OSError) as error:
        why = str(error) or f"no answer within {_PATIENCE_SECONDS:g} s"
        raise MetastoreUnavailable(f"{where}: {why}") from error
    finally:
        client.stop()
        client.close()
    if not found:
        raise MetastoreUnavailable(f"{where}: no HiveServer2 is registered in /{namespace}")
    return found


def parse_node(name: str, content: bytes | None, *, has_http: bool) -> tuple[str, int] | None:
    """Return host and port of an entry; None if it has none.

    Its content is `key=value;..` of the server's settings since Hive 2, `host:port` before. Its name has the address, too.
    """
    text = (content or b"").decode(errors="replace")
    values = dict(pair.split("=", 1) for pair in text.split(";") if "=" in pair)
    port = values.get("hive.server2.thrift.http.port" if has_http else "hive.server2.thrift.port")
    host = values.get("hive.server2.thrift.bind.host")
    if host is None or port is None:
        named = dict(pair.split("=", 1) for pair in name.split(";") if "=" in pair)
        host, _, port = (text if text and not values else named["serverUri"]).rpartition(":")
    return (host, int(port)) if host and port.isdecimal() else None

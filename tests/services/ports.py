"""Ports for services that come and go on this machine."""

import os
import random
import socket
from pathlib import Path

import psutil

# Below the range from which Linux takes ports for outgoing connections (32768 and up): a port picked from that
# range may be gone when a service that was killed wants it back.
# Workers of `pytest -n` take turns in it, and whoever is none has a part of its own: nobody picks a port that another's
# service wants back.
_WORKER = os.environ.get("PYTEST_XDIST_WORKER")
_RANGE = (
    range(13000, 15000)
    if _WORKER is None
    else range(15000, 32000)[int(_WORKER.removeprefix("gw")) :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]
)
_CHANCE = random.Random()  # its own: a test with a fixed seed may draw from the shared one meanwhile
_handed_out: set[int] = set()


def free_ports(count: int) -> tuple[int, ...]:
    """Pick `count` distinct TCP ports that nobody on 127.0.0.1 uses and that this process has not handed out yet.

    Nothing reserves them: another process may take one before the service binds it, which is why services start
    with `ServiceProcess` and try again with other ports on `PortTaken`.
    """
    ports: list[int] = []
    while len(ports) < count:
        port = _CHANCE.choice(_RANGE)
        if port not in _handed_out and _is_free(port):
            _handed_out.add(port)
            ports.append(port)
    return tuple(ports)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def accepts(port: int) -> bool:
    """Say whether something on 127.0.0.1 accepts connections at this port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def unread_at(port: int) -> int:
    """Bytes that this process has sent to a server at this port, and that have arrived there and are not read."""
    mine = {c.laddr.port for c in psutil.Process().net_connections("tcp") if c.raddr and c.raddr.port == port}
    rows = (row.split() for v in ("tcp", "tcp6") for row in Path("/proc/net", v).read_text().splitlines()[1:])
    return sum(
        int(row[4].partition(":")[2], 16)  # its receive queue
        for row in rows
        if _port(row[1]) == port and _port(row[2]) in mine
    )


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)

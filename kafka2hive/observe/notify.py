"""Notifications to systemd: sd_notify(3) in plain Python."""

import logging
import os
import socket
from collections.abc import Mapping

log = logging.getLogger(__name__)


class Notifier:
    """Sends to `NOTIFY_SOCKET` of the environment; without one every call does nothing. Never fails, never waits."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        given = os.environ if environment is None else environment
        self._address = _address(given.get("NOTIFY_SOCKET", ""))

    def ready(self, status: str = "") -> None:
        """The service serves: tables taken over, query running."""
        self._send("READY=1", _status(status))

    def watchdog(self) -> None:
        """The main loop made progress. Systemd kills and restarts a service that stops sending this."""
        self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(_status(text))

    def stopping(self, status: str = "") -> None:
        self._send("STOPPING=1", _status(status))

    def extend_timeout(self, seconds: float) -> None:
        """Starting or stopping takes up to `seconds` more: systemd must not time out before."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        message = "\n".join(line for line in lines if line).encode()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.connect(self._address)
                sender.sendall(message)
        except OSError as error:
            log.debug("systemd was not notified of %r: %s", message, error)


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())}" if text else ""


def _address(text: str) -> str | None:
    """A path, or `@name` for Linux's abstract sockets; anything else (vsock) is not supported."""
    if text.startswith("@"):
        return "\0" + text[1:]
    return text if text.startswith("/") else None

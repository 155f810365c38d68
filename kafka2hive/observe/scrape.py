"""Read the metrics of a live run over its endpoint."""

from http.client import HTTPException
from urllib.request import ProxyHandler, build_opener


def read_metrics(host: str, port: int, query: str, seconds: float, most: int = 1_000_000) -> str | None:
    """Return what a run's endpoint answers, at most `most` bytes; None if the map has no endpoint or no run answers.

    `host` and `port` are those of the map. If `host` stands for all interfaces, the loopback is asked.
    """
    if port == 0:
        return None
    address = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    url = f"http://{f'[{address}]' if ':' in address else address}:{port}/metrics{query}"
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=seconds) as answer:
            return str(answer.read(most).decode(errors="replace"))
    except (OSError, HTTPException):
        return None

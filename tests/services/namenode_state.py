"""What a NameNode says about itself over HTTP."""

import json
import urllib.error
import urllib.request


def bean(http_port: int, name: str) -> dict[str, object]:
    """Read one JMX bean of a NameNode; empty when it does not answer (yet)."""
    url = f"http://127.0.0.1:{http_port}/jmx?qry=Hadoop:service=NameNode,name={name}"
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            beans = json.load(answer)["beans"]
    except (OSError, urllib.error.URLError, ValueError):
        return {}
    return beans[0] if beans else {}


def is_operational(http_port: int, live_datanodes: int = 0) -> bool:
    """Out of safe mode, with at least so many live DataNodes."""
    state = bean(http_port, "FSNamesystemState")
    live = state.get("NumLiveDataNodes", 0)
    return state.get("FSState") == "Operational" and isinstance(live, int) and live >= live_datanodes


def ha_state(http_port: int) -> str:
    """`active`, `standby`, `initializing`, or empty when it does not answer."""
    return str(bean(http_port, "NameNodeStatus").get("State", ""))


def answers(http_port: int) -> bool:
    """Say whether an HTTP server of Hadoop answers at this port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/jmx", timeout=2):
            return True
    except (OSError, urllib.error.URLError):
        return False

"""What a NameNode says about itself over HTTP."""

import http.client
import json
import urllib.request


def bean(http_port: int, name: str) -> dict[str, object]:
    """Read one JMX bean of a NameNode; empty when it does not answer (yet)."""
    url = f"http://127.0.0.1:{http_port}/jmx?qry=Hadoop:service=NameNode,name={name}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            beans = json.load(answer)["beans"]
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    return beans[0] if beans else {}


def is_operational(http_port: int, live_datanodes: int = 0, with_room: bool = True) -> bool:
    """Out of safe mode; with `live_datanodes`, also able to place blocks (unless there is no room by design).

    A DataNode that has registered counts as live at once, but has no room until its first heartbeat: a block
    asked for in between is refused.
    """
    state = bean(http_port, "FSNamesystemState")
    live, room = (state.get(key, 0) for key in ("NumLiveDataNodes", "CapacityRemaining"))
    assert isinstance(live, int), "NumLiveDataNodes is a number"
    assert isinstance(room, int), "CapacityRemaining is a number"
    return state.get("FSState") == "Operational" and (
        live_datanodes == 0 or (live >= live_datanodes and (room > 0 or not with_room))
    )


def ha_state(http_port: int) -> str:
    """`active`, `standby`, `initializing`, or empty when it does not answer."""
    return str(bean(http_port, "NameNodeStatus").get("State", ""))


def answers(http_port: int) -> bool:
    """Say whether an HTTP server of Hadoop answers at this port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/jmx", timeout=30):
            return True
    except (OSError, http.client.HTTPException):
        return False

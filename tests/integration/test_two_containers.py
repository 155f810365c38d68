"""Two containers share a `file:` ledger, a host name and a process id, and must not take one another for themselves."""

import subprocess
import sys
from pathlib import Path

from tests.harness.beating import beating_owner
from tests.harness.cli_ledger import TABLE, pending_service, tree

# Namespaces of its own for host name and processes: what docker makes of a container, as far as identities go.
_CONTAINER = [
    "unshare",
    "--user",
    "--map-root-user",
    "--pid",
    "--uts",
    "--fork",
    "--mount-proc",
    "--kill-child",
    "sh",
    "-c",
]
_SAME_NAME = 'hostname container && exec "$0" "$@"'


def container(*command: str) -> list[str]:
    return [*_CONTAINER, _SAME_NAME, sys.executable, *command]


def recover(config: Path) -> subprocess.CompletedProcess[str]:
    """In a second container."""
    arguments = ["-m", "kafka2hive.cli.main", "recover", "-c", str(config)]
    return subprocess.run(container(*arguments), capture_output=True, text=True, check=False, timeout=600)


def test_a_container_of_the_same_name_and_process_id_is_a_live_owner_until_it_stops_beating(
    tmp_path: Path,
) -> None:
    service = pending_service(tmp_path)
    with beating_owner(service.map, TABLE, python=container()):
        (generation,) = _generations(tmp_path)
        assert "-container-1-" in generation, "not as container-like as meant"
        refused = recover(service.map)
        assert refused.returncode == 72, refused.stdout + refused.stderr
        assert "owned by a live run: container-1 of service demo" in refused.stdout
        assert _generations(tmp_path) == {generation}
    taken = recover(service.map)
    assert taken.returncode == 0, taken.stdout + taken.stderr
    (later,) = _generations(tmp_path)
    assert "-container-1-" in later and later != generation


def _generations(folder: Path) -> set[str]:
    directories = (path for path in tree(folder) if path.count("/") == 3)
    return {path for path in directories if f"kafka_partition_offsets/{TABLE}/g" in path}

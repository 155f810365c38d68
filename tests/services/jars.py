"""Where the jars of the real services are, and what to type when they are not there."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = (ROOT / ".cache").resolve()  # may be a link, so that worktrees share the jars and class data
COMMAND = "scripts/setup test"
COMMAND_OF_ENGINES = "scripts/test-engines"

_OTHER_HIVE = os.environ.get("KAFKA2HIVE_TEST_HIVE")
HIVE = f"hive-{_OTHER_HIVE}" if _OTHER_HIVE else "hive"
"""The jars of the HiveServer2 that is tested: `hive`, or those of an older version, of which `scripts/test-hive` names one."""
IS_OLD_HIVE = HIVE != "hive"


class MissingService(Exception):
    """Java or a directory of jars is not there; the text names the command that fetches it."""


def jars(name: str) -> str:
    """Give the class path entry of all jars of `kafka`, `hdfs`, `hive`, `yarn` or `registry`. Raises `MissingService`."""
    folder = CACHE / "jars" / name
    if not (folder / "COMPLETE").exists():
        raise MissingService(f"the jars of {name} are not there; run: {COMMAND}")
    return f"{folder}/*"


def java() -> str:
    """Give the path of the Java launcher. Raises `MissingService`."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=f"{home}/bin" if home else None)
    if path is None:
        raise MissingService(f"there is no java{f' in JAVA_HOME={home}' if home else ''}; run: {COMMAND}")
    return path

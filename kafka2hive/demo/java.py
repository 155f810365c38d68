"""Which Java there is, and what to type when there is none."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from kafka2hive.model.errors import ServiceUnavailable

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java() -> Path:
    """The launcher Spark will use: JAVA_HOME's, else the one on the path. Raises ServiceUnavailable (`demo.java`)."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    version = java_version(found) if found else 0
    if found and version >= OLDEST:
        return Path(found)
    where = f" in JAVA_HOME={home}" if home else ""
    what = f"only Java {version} is there{where}" if version else f"there is no Java{where}"
    raise ServiceUnavailable(
        "demo.java", f"Spark needs Java {OLDEST} or newer; {what}", f"type: {install_command()}"
    )


def java_version(launcher: str) -> int:
    """The major version, 0 when it cannot be told."""
    try:
        done = subprocess.run([launcher, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found else 0


def install_command() -> str:
    """The one command that installs a Java on this machine."""
    if sys.platform == "darwin":
        return "brew install openjdk@17"
    if shutil.which("dnf"):
        return "sudo dnf install -y java-17-openjdk-headless"
    if shutil.which("zypper"):
        return "sudo zypper install -y java-17-openjdk-headless"
    return "sudo apt-get install -y openjdk-17-jre-headless"

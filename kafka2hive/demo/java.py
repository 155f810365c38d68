"""Which Java there is, and what to type when there is none."""

import os
import shutil
import sys
from pathlib import Path

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.pipeline.java import OLDEST, java_launcher, java_version


def find_java() -> Path:
    """The launcher Spark will use: JAVA_HOME's, else the one on the path. Raises ServiceUnavailable (`demo.java`)."""
    home = os.environ.get("JAVA_HOME")
    found = java_launcher()
    version = java_version(str(found)) if found else 0
    if found and version >= OLDEST:
        return found
    where = f" in JAVA_HOME={home}" if home else ""
    what = f"only Java {version} is there{where}" if version else f"there is no Java{where}"
    raise ServiceUnavailable(
        "demo.java", f"Spark needs Java {OLDEST} or newer; {what}", f"type: {install_command()}"
    )


def install_command() -> str:
    if sys.platform == "darwin":
        return "brew install openjdk@17"
    if shutil.which("dnf"):
        return "sudo dnf install -y java-17-openjdk-headless"
    if shutil.which("zypper"):
        return "sudo zypper install -y java-17-openjdk-headless"
    return "sudo apt-get install -y openjdk-17-jre-headless"

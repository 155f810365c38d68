"""The optional packages of kafka2hive, and the command that installs them into this Python."""

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires


def install_command(extra: str) -> str:
    """Return the pip command that installs the packages of an extra, such as `top`.

    It names the packages themselves, because kafka2hive may be installed from a checkout or a file, which no index has.
    """
    try:
        requirements = requires("kafka2hive") or []
    except PackageNotFoundError:  # it runs from a folder
        requirements = []
    marker = re.compile(rf"""\bextra\s*==\s*['"]{re.escape(extra)}['"]""")
    packages = [
        requirement.partition(";")[0].strip() for requirement in requirements if marker.search(requirement)
    ]
    return shlex.join([sys.executable, "-m", "pip", "install", *packages])

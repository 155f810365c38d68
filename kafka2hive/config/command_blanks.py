"""The blanks in commands that messages tell a person to type, and what fills them.

A message writes `-c MAP` and `--bootstrap-server SERVERS`, because the code that makes it does not know how this program was
called, and because another program may show it (`status` shows what a run has written). Whoever shows a message fills them.
"""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.yaml.document import SUBMITTED

MAP_VARIABLE = "KAFKA2HIVE_CONFIG"
MAP = " -c MAP"
SERVERS = " --bootstrap-server SERVERS"
_LOGIN = " --command-config CLIENT.properties"


@dataclass(frozen=True, slots=True)
class CommandBlanks:
    """The text of each blank; an unknown one is shown as it is."""

    map: str = MAP
    servers: str = SERVERS

    @classmethod
    def of_path(cls, path: str, environ: Mapping[str, str]) -> Self:
        """Return the blanks as far as the map's path tells; its text is not read.

        A map that `submit` has sent, or that came through a pipe, cannot be named on another command line.
        """
        if SUBMITTED in environ or not Path(path).is_file():
            return cls()
        return cls(map=f" -c {shlex.quote(str(Path(path).absolute()))}")

    @classmethod
    def of_map(cls, service_map: ServiceMap, environ: Mapping[str, str]) -> Self:
        """Return the blanks that are known once the map is loaded.

        If Kafka needs a login, its tools need it, too, in a file that only its administrator can name.
        """
        if service_map.kafka_clusters:
            return cls.of_path(service_map.path, environ)  # a message does not say of which cluster it is
        properties = dict(service_map.kafka.properties)
        servers = shlex.quote(str(properties["bootstrap.servers"]))
        protocol = str(properties.get("security.protocol", "plaintext")).lower()
        login = "" if protocol == "plaintext" else _LOGIN
        return cls(cls.of_path(service_map.path, environ).map, f" --bootstrap-server {servers}{login}")

    def in_shell(self, path: str, environ: Mapping[str, str]) -> Self:
        """Return the blanks for the shell of this command: without an option if a variable of the shell names the map."""
        named = environ.get(MAP_VARIABLE)
        is_named = bool(named) and os.path.realpath(str(named)) == os.path.realpath(path)
        return replace(self, map="") if is_named else self

    def fill(self, text: str) -> str:
        """Return the text with its blanks filled."""
        return text.replace(MAP, self.map).replace(SERVERS, self.servers)

    def fill_json(self, text: str) -> str:
        """Return JSON text with the blanks in its strings filled."""
        filled = CommandBlanks(_escaped(self.map), _escaped(self.servers))
        return filled.fill(text)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]

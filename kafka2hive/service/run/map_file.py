"""Whether the map's file still has the text that the run has."""

import logging
import math

from kafka2hive.config.load import fingerprint_of, read_map_text
from kafka2hive.model.errors import ConfigError
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

LOOK_SECONDS = 30.0


class MapFileWatch:
    """Looks at the map's file from time to time. A file that cannot be read does not differ."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._looked_at = -math.inf
        self._on_disk = ""
        self.warnings: tuple[str, ...] = ()
        """What `status` shows while the file differs."""

    def differs_from(self, running: str) -> bool:
        """Return whether the file has another fingerprint than `running`, by a look that is at most LOOK_SECONDS old."""
        now = self._clock.monotonic()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            try:
                self._on_disk = fingerprint_of(read_map_text(self._path))
            except ConfigError as error:
                log.debug("the map's file is not compared: %s", error.message)
                self._on_disk = ""
        differs = self._on_disk not in ("", running)
        text = (
            f"the file {self._path} differs from the map that the run has: `kafka2hive reload --plan -c MAP` shows what a reload"
            " would change, and a restart takes the file as it is"
        )
        self.warnings = (text,) if differs else ()
        return differs

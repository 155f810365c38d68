"""A stored file as Python's readers of files see it: its bytes are fetched in parts, when they are read."""

import io
import os
from collections.abc import Callable

_AHEAD_BYTES = 4 << 20


class StoredFile(io.RawIOBase):
    """A file of `length` bytes; `part(start, count)` returns `count` of them, and may raise StorageError.

    A window of the file is kept: 4 MiB from where the last read that was not within it began, or what `hold` asked for.
    `release` is called when the file is closed or forgotten.
    """

    def __init__(
        self, length: int, part: Callable[[int, int], bytes], release: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__()
        self.length = length
        self._part = part
        self._release = release
        self._position = 0
        self._window, self._window_start = b"", 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.length}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def hold(self, start: int, count: int) -> None:
        """Fetch a range at once, for reads that go to and fro within it."""
        self._window = b""  # not both in memory
        self._window, self._window_start = self._part(start, count), start

    def read(self, size: int | None = -1) -> bytes:
        start, left = self._position, max(0, self.length - self._position)
        count = left if size is None or size < 0 else min(size, left)
        self._position += count
        offset = start - self._window_start
        if offset < 0 or offset + count > len(self._window):
            if count >= _AHEAD_BYTES:
                return self._part(start, count)
            self.hold(start, min(_AHEAD_BYTES, left))
            offset = 0
        return self._window[offset : offset + count]

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._release()
        super().close()

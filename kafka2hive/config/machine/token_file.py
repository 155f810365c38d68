"""The services that the delegation tokens of a file are for (Hadoop's Credentials, format 0). Secrets are skipped, never kept."""

_MAGIC = b"HDTS\x00"
HDFS_TOKEN = "HDFS_DELEGATION_TOKEN"


class NoTokenFile(ValueError):
    """The bytes are no token file of format 0, or end in the middle of a token."""


def hdfs_services(content: bytes) -> frozenset[str]:
    """`host:port` or `ha-hdfs:nameservice` of each token for HDFS. Raises NoTokenFile."""
    if content[: len(_MAGIC)] != _MAGIC:
        raise NoTokenFile("does not begin as a token file of Hadoop")
    reader = _Reader(content, len(_MAGIC))
    services = set()
    for _ in range(reader.number()):
        _alias, _identifier, _password = reader.part(), reader.part(), reader.part()
        kind, service = reader.part(), reader.part()
        if kind == HDFS_TOKEN.encode():
            services.add(service.decode(errors="replace"))
    return frozenset(services)


class _Reader:
    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def part(self) -> bytes:
        """Bytes behind their length."""
        return self._take(self.number())

    def number(self) -> int:
        """Hadoop's variable-length integer (WritableUtils): one byte, or how many bytes follow."""
        (first,) = self._take(1)
        if first < 0x80:
            return first
        if not 0x88 <= first <= 0x8F:
            raise NoTokenFile("is damaged")  # -1 to -112, or a negative number of several bytes
        return int.from_bytes(self._take(0x90 - first))

    def _take(self, length: int) -> bytes:
        if self._at + length > len(self._content):
            raise NoTokenFile("is cut off")
        self._at += length
        return self._content[self._at - length : self._at]

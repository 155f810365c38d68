"""thrift's TLS socket, closed without hiding why it was not opened."""

from thrift.transport.TSSLSocket import TSSLSocket


class TlsSocket(TSSLSocket):  # type: ignore[misc]
    """thrift's own raises AttributeError when it is closed before it is open."""

    def close(self) -> None:
        """Harmless when there is no connection."""
        if self.handle is not None:
            super().close()

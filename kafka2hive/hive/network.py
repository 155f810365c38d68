"""The errors of connections over thrift, and what they say about the request."""


def network_errors() -> tuple[type[Exception], ...]:
    """Return the errors after which nobody knows whether the request was carried out."""
    from http.client import HTTPException

    from thrift.Thrift import TException

    # AssertionError: PyHive asserts the protocol version. EOFError, OSError, HTTPException: from the layers below thrift
    return (TException, OSError, EOFError, HTTPException, AssertionError)


def was_closed(error: BaseException) -> bool:
    """Return whether the server closed the connection."""
    from thrift.transport.TTransport import TTransportException

    return isinstance(error, (EOFError, ConnectionResetError)) or (
        isinstance(error, TTransportException) and error.type == TTransportException.END_OF_FILE
    )


def timed_out(error: BaseException) -> bool:
    """Return whether the time limit of a read or of the connect has passed."""
    inner = getattr(error, "inner", None)
    return isinstance(error, TimeoutError) or isinstance(inner, TimeoutError)

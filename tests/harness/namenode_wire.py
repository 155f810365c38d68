"""Hadoop's RPC as far as a proxy must understand it: where a frame ends, whose call it is, and which method it asks for.

A connection begins with `hrpc`, version, service class and the login protocol (7 bytes). Then frames: four bytes of length,
a header (a protobuf message behind its length as varint), and for calls a second one that names the method. Frames whose
call number is negative open the connection: login and the user's name. Source: the protocol files RpcHeader.proto and
ProtobufRpcEngine.proto of Hadoop 3.4.
"""

from collections.abc import Iterator

OPENING = 7
_CALL, _CLIENT, _METHOD = 3, 4, 1
_REPLY_CALL, _REPLY_STATUS, _REPLY_ERROR = 1, 2, 4
_VARINT, _BYTES = 0, 2


def frames(buffer: bytearray) -> Iterator[bytes]:
    """Take whole frames off the front of the buffer, each with its length."""
    while len(buffer) >= 4:
        end = 4 + int.from_bytes(buffer[:4], "big")
        if len(buffer) < end:
            return
        frame = bytes(buffer[:end])
        del buffer[:end]
        yield frame


def call_of(frame: bytes) -> tuple[int, bytes, str]:
    """Of a request: the call's number, the client's id, the method (empty when the number is negative)."""
    fields, rest = _message(frame, 4)
    number = fields.get(_CALL, 0)
    client = fields.get(_CLIENT, b"")
    assert isinstance(number, int) and isinstance(client, bytes), frame
    call = (number >> 1) ^ -(number & 1)  # zigzag
    if call < 0:
        return call, client, ""
    method = _message(frame, rest)[0][_METHOD]
    assert isinstance(method, bytes), frame
    return call, client, method.decode()


def answer_in(frame: bytes) -> tuple[int, str]:
    """Of a reply: the call's number, and the Java class of the error (empty: success)."""
    fields, _ = _message(frame, 4)
    number, status, error = (
        fields.get(key, default)
        for key, default in ((_REPLY_CALL, 0), (_REPLY_STATUS, 0), (_REPLY_ERROR, b""))
    )
    assert isinstance(number, int) and isinstance(error, bytes), frame
    return number, (error.decode() or "unnamed error") if status else ""


def _message(data: bytes, start: int) -> tuple[dict[int, int | bytes], int]:
    """The plain fields of a length-delimited message at `start`, and where it ends."""
    length, at = _varint(data, start)
    end = at + length
    fields: dict[int, int | bytes] = {}
    while at < end:
        tag, at = _varint(data, at)
        if tag & 7 == _VARINT:
            fields[tag >> 3], at = _varint(data, at)
        elif tag & 7 == _BYTES:
            size, at = _varint(data, at)
            fields[tag >> 3], at = data[at : at + size], at + size
        else:
            raise ValueError(f"a field of wire type {tag & 7} in an RPC header")
    return fields, end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at

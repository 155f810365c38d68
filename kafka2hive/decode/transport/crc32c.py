"""The checksum CRC-32C (Castagnoli) of RFC 3720, which zlib does not have."""

from functools import reduce

from kafka2hive.config.native_library import LIBRARY

_POLYNOMIAL = 0x82F63B78


def _after_byte(byte: int) -> int:
    return reduce(lambda total, _: total >> 1 ^ (_POLYNOMIAL if total & 1 else 0), range(8), byte)


_TABLE = [_after_byte(byte) for byte in range(256)]


def crc32c(octets: bytes) -> int:
    """Return the checksum of some bytes; without the compiled library slowly."""
    if LIBRARY is not None:
        total: int = LIBRARY.crc32c(octets)
        return total
    return crc32c_in_python(octets)


def crc32c_in_python(octets: bytes) -> int:
    """Return the checksum of some bytes, about ten million bytes a second."""
    total = 0xFFFFFFFF
    for octet in octets:
        total = total >> 8 ^ _TABLE[(total ^ octet) & 0xFF]
    return total ^ 0xFFFFFFFF

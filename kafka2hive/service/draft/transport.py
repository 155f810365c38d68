"""The compression and the text encoding of sampled values, told by the bytes with which most of them begin."""

import re
from collections.abc import Sequence

import pyarrow as pa

from kafka2hive.config.keys.source import Compression, Encoding, Framing
from kafka2hive.decode.framing.foreign_forms import foreign_form
from kafka2hive.decode.transport.contents import Contents, Transport

_COMPRESSIONS: dict[Compression, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b",),
    "zstd": (b"\x28\xb5\x2f\xfd",),
    "lz4": (b"\x04\x22\x4d\x18",),
    "zlib": (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"),
    "snappy": (b"\x82SNAPPY\x00",),
}
"""Raw deflate and raw blocks of snappy begin with any bytes, so they are not recognised."""
_FAR: tuple[Encoding, ...] = ("windows-31j", "euc-jp", "euc-kr", "big5", "gb18030", "windows-1251")
_CONTROL = re.compile(rb"[\x00\x02-\x08\x0b\x0c\x0e-\x1f]")
"""Bytes that text does not have; 0x01 is a delimiter of Hive."""
_HIGH = re.compile(rb"[\x80-\xff]+")
_WESTERN = re.compile(rb"(?<=[A-Za-z])[\x80-\xff](?![\x80-\xff])|(?<![\x80-\xff])[\x80-\xff](?=[A-Za-z])")
_OTHERS = 0.01
"""The share of values from which on those that are not UTF-8 matter."""
_ALONE = 0.6
_ENCODINGS: dict[Encoding, tuple[bytes, ...]] = {
    "utf-8-bom": (b"\xef\xbb\xbf",),
    "utf-16": (b"\xff\xfe", b"\xfe\xff"),
    "utf-16le": (b"{\0", b"[\0"),
}


def compression_of(values: Sequence[bytes]) -> Compression:
    """Return the compression that most values begin with, if most of them can be decompressed; otherwise `none`."""
    for compression, heads in _COMPRESSIONS.items():
        if _are_most(values, heads, Transport(compression)):
            return compression
    return "none"


def encoding_of(values: Sequence[bytes]) -> Encoding:
    """Return the encoding of text whose mark most values begin with; otherwise UTF-8."""
    for encoding, heads in _ENCODINGS.items():
        if _are_most(values, heads, Transport(encoding=encoding)):
            return encoding
    return "utf-8"


def guessed_encodings(values: Sequence[bytes]) -> tuple[Encoding, ...]:
    """Return the encodings that text which is not UTF-8 may have, the only one if it is a guess; empty if it is UTF-8 or binary.

    Western letters stand alone beside letters of ASCII, those of other scripts side by side.
    """
    others = [value for value in values if not _is_utf8(value)]
    is_binary = any(_CONTROL.search(value) or foreign_form(value) for value in values)
    if len(others) < _OTHERS * len(values) or not others or is_binary:
        return ()
    runs = sum(len(_HIGH.findall(value)) for value in others)
    if _ALONE * runs <= sum(len(_WESTERN.findall(value)) for value in others):
        western: tuple[Encoding, ...] = ("windows-1252", "iso-8859-1")
        return next((encoding,) for encoding in western if _fits(others, encoding))
    return tuple(encoding for encoding in _FAR if _fits(others, encoding))


def _fits(values: Sequence[bytes], encoding: Encoding) -> bool:
    return not contents_of(values, "none", encoding).refusals


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def contents_of(
    values: Sequence[bytes], compression: Compression, encoding: Encoding, framing: Framing = "id4"
) -> Contents:
    """Return the contents by which the values are recognised."""
    return Transport(compression, encoding, framing).all_contents(pa.array(values, pa.binary()))


def _are_most(values: Sequence[bytes], heads: tuple[bytes, ...], transport: Transport) -> bool:
    if 2 * sum(value.startswith(heads) for value in values) <= len(values):
        return False
    return 2 * len(transport.all_contents(pa.array(values, pa.binary())).places) > len(values)

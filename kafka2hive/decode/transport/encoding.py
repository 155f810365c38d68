"""Transcode one text to UTF-8, strictly: a byte sequence that the encoding does not define is refused, never replaced."""

from collections.abc import Callable

from kafka2hive.config.keys.source import Encoding
from kafka2hive.decode.transport.compression import Undecodable

UNDECODABLE = "encoding.undecodable"
_CODECS: dict[Encoding, str] = {
    "utf-8-bom": "utf-8",
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "iso-8859-1": "iso8859-1",
    "iso-8859-2": "iso8859-2",
    "iso-8859-5": "iso8859-5",
    "iso-8859-7": "iso8859-7",
    "iso-8859-9": "iso8859-9",
    "iso-8859-15": "iso8859-15",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "windows-1252": "cp1252",
    "windows-1253": "cp1253",
    "windows-1254": "cp1254",
    "koi8-r": "koi8-r",
    "gbk": "gbk",
    "gb18030": "gb18030",
    "big5": "big5",
    "shift_jis": "shift_jis",
    "windows-31j": "cp932",
    "euc-jp": "euc_jp",
    "euc-kr": "euc_kr",
}
"""Python's codec of each encoding."""
_MARK = "\ufeff"
_LITTLE, _BIG = b"\xff\xfe", b"\xfe\xff"
Transcode = Callable[[bytes], bytes]


def transcoder(encoding: Encoding) -> Transcode | None:
    """Return the function that transcodes a text; None for UTF-8, which needs none."""
    if encoding == "utf-8":
        return None
    codec = _CODECS[encoding]

    def transcode(value: bytes) -> bytes:
        if encoding == "utf-16" and value and value[:2] not in (_LITTLE, _BIG):
            raise Undecodable(
                UNDECODABLE, "no byte order mark: `encoding: utf-16le` or `utf-16be` reads text without one"
            )
        try:
            text = value.decode(codec)
        except UnicodeDecodeError as error:
            raise Undecodable(UNDECODABLE, _fault(error, encoding)) from error
        if encoding == "utf-8-bom":
            text = text.removeprefix(_MARK)
        elif encoding in ("utf-16le", "utf-16be") and text.startswith(_MARK):
            raise Undecodable(UNDECODABLE, "a byte order mark: `encoding: utf-16` reads text that has one")
        return text.encode()

    return transcode


def is_ascii_compatible(encoding: Encoding) -> bool:
    """Return whether text of ASCII characters has the same bytes in the encoding and in UTF-8."""
    return not encoding.startswith("utf-16")


def _fault(error: UnicodeDecodeError, encoding: str) -> str:
    octets = error.object[error.start : error.end][:4].hex(" ")
    return f"not {encoding}: byte {error.start} ({octets}): {error.reason}"

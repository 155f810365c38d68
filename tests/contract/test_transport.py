"""Compressed values and texts in other encodings become the messages that their producers meant, or dead letters."""

import gzip
import json
import tracemalloc
import zlib
from typing import Any, get_args

import pyarrow as pa
import pytest

from kafka2hive.config.keys.source import Compression, Encoding
from kafka2hive.decode.transport import compression as compressing
from kafka2hive.decode.transport import contents as pieces
from kafka2hive.decode.transport.contents import Transport
from kafka2hive.decode.transport.crc32c import crc32c, crc32c_in_python
from tests.contract.java_values import COMPRESSED, ENCODED, TEXT

ALL: list[Any] = [(name, bytes.fromhex(text)) for name, texts in COMPRESSED.items() for text in texts]


STREAM = b"\xff\6\0\0sNaPpY"
"""The beginning of snappy's framing format."""


def outcome(transport: Transport, value: bytes) -> Any:
    """Return the content of the value, or the text of the reason against it."""
    found = transport.all_contents(pa.array([value], pa.binary()))
    return str(found.refusals[0]) if found.refusals else found.values[0].as_py()


def compressed(compression: str, content: bytes) -> bytes:
    if compression in ("zstd", "lz4"):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, compression) as stream:
            stream.write(content)
        return bytes(sink.getvalue())
    if compression == "snappy":
        return bytes(pa.compress(content, codec="snappy", asbytes=True))
    stream = zlib.compressobj(wbits={"gzip": 31, "zlib": 15, "deflate": -15}[compression])
    return stream.compress(content) + stream.flush()


def test_every_compression_and_encoding_of_the_map_has_values_of_other_programs() -> None:
    assert set(COMPRESSED) == set(get_args(Compression)) - {"none"}
    assert set(ENCODED) == set(get_args(Encoding)) - {"utf-8", "utf-8-bom"}


@pytest.mark.parametrize(("compression", "value"), ALL)
def test_a_compressed_value_is_its_content(compression: Compression, value: bytes) -> None:
    assert outcome(Transport(compression), value) == TEXT


@pytest.mark.parametrize(("compression", "value"), ALL)
def test_a_truncated_value_is_refused_wherever_it_ends(compression: Compression, value: bytes) -> None:
    # streams of snappy without blocks are empty
    whole = {16} if value.startswith(b"\x82SNAPPY") else {10} if value.startswith(STREAM) else set()
    for end in range(len(value)):
        found = outcome(Transport(compression), value[:end])
        if end in whole:
            assert found == b""
        else:
            assert str(found).startswith(f"compression.damaged: not readable as {compression}: "), end


@pytest.mark.parametrize(("compression", "value"), ALL)
def test_bytes_after_the_end_are_refused(compression: Compression, value: bytes) -> None:
    assert "compression.damaged" in outcome(Transport(compression), value + b"\0\0\0\0\0\0\0")


@pytest.mark.parametrize(("compression", "place"), [("gzip", -6), ("zlib", -2)])
def test_a_changed_byte_is_noticed_by_the_checksum(compression: Compression, place: int) -> None:
    value = bytearray(bytes.fromhex(COMPRESSED[compression][0]))
    value[place] ^= 0x10
    assert "compression.damaged" in outcome(Transport(compression), bytes(value))


@pytest.mark.parametrize("compression", ["gzip", "zstd", "lz4"])
def test_members_and_frames_in_a_row_are_one_content(compression: Compression) -> None:
    value = bytes.fromhex(COMPRESSED[compression][0])
    assert outcome(Transport(compression), value + value) == TEXT + TEXT


@pytest.mark.parametrize("compression", sorted(COMPRESSED))
@pytest.mark.parametrize("value", [b"", TEXT, b"\1", b"\xff" * 40])
def test_a_value_that_is_not_compressed_is_refused(compression: Compression, value: bytes) -> None:
    found = outcome(Transport(compression), value)
    assert isinstance(found, str) and found.startswith("compression."), found


def test_snappy_tells_its_forms_apart() -> None:
    for magic in (b"\x82SNAPPY\x00", STREAM):  # neither can begin a raw block
        for more in (bytes(20_000), b"\xff" * 20_000):
            with pytest.raises(OSError):
                pa.decompress(magic + more, 10_626 if magic[0] == 0x82 else 895, "snappy")


def chunk(kind: int, content: bytes, is_right: bool = True) -> bytes:
    """Return a chunk of snappy's framing format."""
    total = crc32c_in_python(content if is_right else content + b"x")
    total = ((total >> 15 | total << 17) + 0xA282EAD8) & 0xFFFFFFFF
    body = compressed("snappy", content) if kind == 0 else content
    return bytes([kind]) + (len(body) + 4).to_bytes(3, "little") + total.to_bytes(4, "little") + body


def test_snappy_s_framing_format_has_chunks_of_several_types() -> None:
    padding, skippable = b"\xfe\3\0\0abc", b"\x80\1\0\0x"
    whole = STREAM + chunk(0, TEXT) + padding + chunk(1, b"plain") + skippable + STREAM + chunk(0, b"")
    assert outcome(Transport("snappy"), whole) == TEXT + b"plain"
    assert outcome(Transport("snappy"), STREAM) == b""
    most = bytes(65_536)
    assert outcome(Transport("snappy"), STREAM + chunk(0, most) + chunk(1, most)) == 2 * most
    for bad, why in (
        (chunk(0, TEXT, is_right=False), "the checksum of a chunk differs"),
        (chunk(1, TEXT, is_right=False), "the checksum of a chunk differs"),
        (chunk(0, most + b"x"), "a chunk has more than 65536 bytes"),
        (chunk(1, most + b"x"), "a chunk has more than 65536 bytes"),
        (b"\x7f\0\0\0", "a chunk of the unknown type 127"),
        (b"\xff\6\0\0sNaPpX", "a stream begins with other bytes"),
        (b"\0\3\0\0abc", "too short for its checksum"),
        (b"\0\5\0\0abcd\xff", "length of its content cannot be read"),
        (chunk(0, TEXT)[:-1], "it is truncated"),
    ):
        assert why in outcome(Transport("snappy"), STREAM + chunk(1, b"a") + bad), why


def test_chunks_of_snappy_have_no_more_content_than_a_value_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressing, "LARGEST_CONTENT", 200_000)
    value = STREAM + 3 * chunk(0, bytes(65_536))
    assert outcome(Transport("snappy"), value) == bytes(3 * 65_536)
    assert "compression.oversized" in outcome(Transport("snappy"), value + chunk(0, bytes(4_000)))


def test_checksums_are_those_of_rfc_3720_with_and_without_the_library() -> None:
    for octets, total in (
        (bytes(32), 0x8A9136AA),
        (bytes(range(32)), 0x46DD794E),
        (b"123456789", 0xE3069283),
    ):
        assert crc32c(octets) == crc32c_in_python(octets) == total
    for size in range(40):
        assert crc32c(TEXT[:size]) == crc32c_in_python(TEXT[:size])


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_791, 65_792, 300_000])
@pytest.mark.parametrize("level", [1, 19])
def test_a_frame_of_zstd_with_its_size_is_read_at_once(size: int, level: int) -> None:
    content = (TEXT * (1 + size // len(TEXT)))[:size]
    value = bytes(pa.Codec("zstd", level).compress(content, asbytes=True))
    assert compressing.zstd_size(value) == size
    assert outcome(Transport("zstd"), value) == content
    assert outcome(Transport("zstd"), value + value) == content + content
    assert "compression.damaged" in outcome(Transport("zstd"), value + b"x")
    assert "compression.damaged" in outcome(Transport("zstd"), value[:-1])
    skippable = b"\x50\x2a\x4d\x18\3\0\0\0abc"
    assert outcome(Transport("zstd"), skippable + value) == content
    assert outcome(Transport("zstd"), value + skippable) == content


@pytest.mark.parametrize("compression", sorted(COMPRESSED))
def test_a_bomb_is_refused_and_costs_no_more_memory_than_a_value_may(
    compression: Compression, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 4 * 1024 * 1024
    monkeypatch.setattr(compressing, "LARGEST_CONTENT", most)
    transport = Transport(compression)
    assert outcome(transport, compressed(compression, bytes(most))) == bytes(most)
    bomb = compressed(compression, bytes(20 * most))
    assert len(bomb) < most
    before = pa.default_memory_pool().bytes_allocated()
    tracemalloc.start()
    try:
        assert "compression.oversized" in outcome(transport, bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * most
    finally:
        tracemalloc.stop()
    assert pa.default_memory_pool().bytes_allocated() - before < most
    if compression in ("gzip", "zstd", "lz4"):
        parts = compressed(compression, bytes(most // 2 + 1))
        assert "compression.oversized" in outcome(transport, parts + parts)


def test_contents_come_in_pieces_of_bounded_size_and_each_value_is_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2 * len(TEXT))
    good, bad = gzip.compress(TEXT), b"no gzip"
    values = [good, bad, good, good, bad, good, good, bad]
    found = list(Transport("gzip").contents(pa.array(values, pa.binary())))
    assert [piece.places.tolist() for piece in found] == [[0, 2], [3, 5], [6]]
    assert [sorted(piece.refusals) for piece in found] == [[1], [4], [7]]
    assert all(piece.values.to_pylist() == [TEXT] * len(piece.places) for piece in found)
    assert len(list(Transport("gzip").contents(pa.array([], pa.binary())))) == 1


@pytest.mark.parametrize("encoding", sorted(ENCODED))
def test_text_is_transcoded_as_java_writes_it(encoding: Encoding) -> None:
    for text, value in ENCODED[encoding].items():
        assert outcome(Transport(encoding=encoding), bytes.fromhex(value)) == text.encode(), text
    both = pa.array([bytes.fromhex(value) for value in ENCODED[encoding].values()], pa.binary())
    assert [v.decode() for v in Transport(encoding=encoding).all_contents(both).values.to_pylist()] == [
        *ENCODED[encoding]
    ]


@pytest.mark.parametrize(
    ("encoding", "value", "told"),
    [
        ("windows-1252", b"a\x81", "not windows-1252: byte 1 (81): "),
        ("gbk", b"ab\xd6", "not gbk: byte 2 (d6): incomplete multibyte sequence"),
        ("shift_jis", b"\x83", "incomplete multibyte sequence"),
        ("euc-kr", b"\xff\xff", "not euc-kr: byte 0 (ff)"),
        ("utf-16", b"\xff\xfea", "not utf-16: byte 2 (61): truncated data"),
        ("utf-16", b"\xff\xfe\x00\xd8a\x00", "illegal UTF-16 surrogate"),
        ("utf-16", "abc".encode("utf-16-le"), "no byte order mark: `encoding: utf-16le`"),
        ("utf-16le", "\ufeffabc".encode("utf-16-le"), "a byte order mark: `encoding: utf-16`"),
        ("utf-16be", b"\xdc\x00", "illegal encoding"),
        ("utf-8-bom", b"\xef\xbb\xbf\xff", "byte 3 (ff): invalid start byte"),
    ],
)
def test_bytes_that_the_encoding_does_not_define_are_refused_and_never_replaced(
    encoding: Encoding, value: bytes, told: str
) -> None:
    found = outcome(Transport(encoding=encoding), value)
    assert isinstance(found, str) and found.startswith("encoding.undecodable: ") and told in found, found


def test_a_mark_of_utf_8_is_optional_and_is_left_out_once() -> None:
    transport = Transport(encoding="utf-8-bom")
    assert outcome(transport, b"\xef\xbb\xbfa") == outcome(transport, b"a") == b"a"
    assert outcome(transport, b"\xef\xbb\xbf" * 2 + b"a") == b"\xef\xbb\xbfa"
    assert outcome(Transport(encoding="utf-16"), b"") == b""


def test_text_is_decompressed_before_it_is_transcoded() -> None:
    row = json.dumps({"name": "Zoë"}, ensure_ascii=False)
    transport = Transport("gzip", "utf-16")
    assert outcome(transport, gzip.compress(row.encode("utf-16"))) == row.encode()
    assert "encoding.undecodable" in outcome(transport, gzip.compress(row.encode()))
    assert "compression.damaged" in outcome(transport, row.encode("utf-16"))


def test_without_the_keys_values_are_not_copied() -> None:
    values = pa.array([b"a", b"\xff"], pa.binary())
    (whole,) = Transport().contents(values)
    assert Transport().is_plain and whole.values is values
    ascii_only = pa.array([b"a", b"b"], pa.binary())
    (whole,) = Transport(encoding="gbk").contents(ascii_only)
    assert whole.values is ascii_only

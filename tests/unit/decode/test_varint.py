"""Numbers in Protobuf's wire format, written and read."""

import pytest

from kafka2hive.decode.protobuf.cursor import ProtobufCursor
from kafka2hive.decode.protobuf.resolve import varint


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**14, 2**21 + 5, 2**63 - 1, -1, -(2**31)])
def test_a_number_is_written_in_as_few_bytes_as_hold_it_and_read_as_it_was(number: int) -> None:
    message = varint(number)
    cursor = ProtobufCursor(message, 0)
    assert cursor.varint() == number % 2**64
    assert cursor.at == len(message) == max(1, -(-(number % 2**64).bit_length() // 7))

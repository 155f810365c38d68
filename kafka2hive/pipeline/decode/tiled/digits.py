"""Digits to numbers, eight at a time, for all messages of a batch at once.

The trick is old: load eight digits as one 64-bit number and add neighbours with multiplications ("SIMD within a
register", Mula and Lemire). Loads are little-endian at any address.
"""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_DIGITS = 18  # fits int64 whatever the digits
PADDING = 64  # bytes to add behind a text, so that every load stays inside
_ZEROS = np.uint64(0x3030303030303030)
_EIGHT = np.int64(8)


def words_of(padded: npt.NDArray[np.uint8]) -> Words:
    """A view: element i is bytes i .. i+7."""
    return np.ndarray(len(padded) - 7, dtype="<u8", buffer=padded, strides=(1,))


def whole_numbers(
    words: Words, begin: Words, start: Index, length: Index, negative: Mask
) -> tuple[Index, Mask]:
    """The numbers spelled at `start`, `length` bytes with the sign where `negative`; and whether each is one.

    One = JSON's grammar without fraction and exponent, at most MOST_DIGITS digits. Others come out as anything.
    `begin` is words[start].
    """
    count = length - negative
    right = (count >= 1) & (count <= MOST_DIGITS)
    count = np.where(right, count, 1)
    first = words[start + negative] if negative.any() else begin
    right &= ((first & np.uint64(0xFF)) != np.uint64(0x30)) | (count == 1)
    value, eight = _up_to_eight(first, np.minimum(count, _EIGHT))
    right &= eight
    done = 8
    while done < MOST_DIGITS and bool((count > done).any()):
        more = np.clip(count - done, 0, 8)
        next_value, eight = _up_to_eight(words[start + negative + done], np.maximum(more, 1))
        right &= eight | (more == 0)
        value = np.where(more == 0, value, value * _POWERS[more] + next_value)
        done += 8
    signed = value.view(np.int64)
    return np.where(negative, -signed, signed), right


_POWERS = np.array([10**n for n in range(9)], dtype=np.uint64)


def _up_to_eight(word: Words, count: Index) -> tuple[Words, Mask]:
    """The first `count` (1 to 8) bytes of each word as a decimal number, and whether all of them are digits."""
    unused = ((_EIGHT - count) * 8).astype(np.uint64)
    w = (word << unused) | np.where(unused == 0, np.uint64(0), _ZEROS >> (np.uint64(64) - unused))
    high, low_nibbles = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x0F0F0F0F0F0F0F0F)
    digits = ((w & high) == _ZEROS) & (((w + np.uint64(0x0606060606060606)) & high) == _ZEROS)
    w = ((w & low_nibbles) * np.uint64(2561)) >> np.uint64(8)
    w = ((w & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    w = ((w & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)
    return w, digits

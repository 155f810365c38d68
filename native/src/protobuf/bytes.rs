//! Strict steps over the wire format.

use crate::bytes::{self, utf8};
use crate::cursor::{Doubt, Parsed};

/// Wire type of numbers
pub const VARINT: u32 = 0;
/// Wire type of eight bytes
pub const FIXED64: u32 = 1;
/// Wire type of bytes after their length
pub const LENGTH: u32 = 2;
/// Wire type of a group's beginning
pub const START: u32 = 3;
/// Wire type of a group's end
pub const END: u32 = 4;
/// Wire type of four bytes
pub const FIXED32: u32 = 5;

const LARGEST_NUMBER: u64 = (1 << 29) - 1;

/// The wire format needs no state except the position in a message.
pub struct Protobuf;

/// A position in one message of the wire format, or in a part of it.
pub type Bytes<'a> = bytes::Bytes<'a, Protobuf>;

impl<'a> Bytes<'a> {
    /// Begins at byte `at` of a message.
    pub fn new(message: &'a [u8], at: usize) -> Self {
        Bytes { message, at, open: 1, format: Protobuf }
    }

    /// Reads a varint of at most ten bytes and 64 bits; it need not be in its shortest form.
    #[inline(always)]
    pub fn varint(&mut self) -> Parsed<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        self.longer(first, 10)
    }

    #[inline]
    fn longer(&mut self, first: u8, most: u32) -> Parsed<u64> {
        let mut number = u64::from(first & 0x7f);
        for place in 1..most {
            let byte = self.byte()?;
            if place == 9 && byte > 1 {
                return Err(Doubt);
            }
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Doubt)
    }

    /// Reads a tag: a field's number, and the wire type of its value.
    #[inline(always)]
    pub fn tag(&mut self) -> Parsed<(u32, u32)> {
        let first = self.byte()?;
        let tag = if first < 0x80 { u64::from(first) } else { self.longer(first, 5)? };
        let (number, wire) = (tag >> 3, (tag & 7) as u32);
        if number == 0 || number > LARGEST_NUMBER || wire > FIXED32 {
            return Err(Doubt);
        }
        Ok((number as u32, wire))
    }

    /// Reads a length and that many bytes.
    #[inline(always)]
    pub fn octets(&mut self) -> Parsed<&'a [u8]> {
        let first = self.byte()?;
        let size = if first < 0x80 { u64::from(first) } else { self.longer(first, 5)? };
        self.take(usize::try_from(size).map_err(|_| Doubt)?)
    }

    /// Reads a length and that many bytes of UTF-8.
    #[inline(always)]
    pub fn text(&mut self) -> Parsed<&'a [u8]> {
        utf8(self.octets()?)
    }

    /// Reads packed values after their length. Returns a position in them.
    #[inline(always)]
    pub fn packed(&mut self) -> Parsed<Bytes<'a>> {
        Ok(Bytes { message: self.octets()?, at: 0, open: self.open, format: Protobuf })
    }

    /// Reads a message after its length. Returns a position in it, one level deeper.
    #[inline(always)]
    pub fn inner(&mut self) -> Parsed<Bytes<'a>> {
        let mut inner = self.packed()?;
        inner.open()?;
        Ok(inner)
    }

    /// Skips the value of an unknown field.
    pub fn skip(&mut self, number: u32, wire: u32) -> Parsed<()> {
        match wire {
            VARINT => drop(self.varint()?),
            FIXED64 => drop(self.take(8)?),
            LENGTH => drop(self.octets()?),
            FIXED32 => drop(self.take(4)?),
            START => {
                self.open()?;
                loop {
                    let (inner, wire) = self.tag()?;
                    if wire == END {
                        if inner != number {
                            return Err(Doubt);
                        }
                        break;
                    }
                    self.skip(inner, wire)?;
                }
                self.close();
            }
            _ => return Err(Doubt),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_ten_bytes_and_64_bits() {
        let number = |bytes: &[u8]| Bytes::new(bytes, 0).varint().ok();
        assert_eq!([&[0][..], &[1], &[0x80, 1], &[0x81, 0]].map(number), [Some(0), Some(1), Some(128), Some(1)]);
        assert_eq!(number(&[&[0xff; 9][..], &[1]].concat()), Some(u64::MAX));
        for bad in [&[][..], &[0x80], &[&[0xff; 9][..], &[2]].concat(), &[&[0x80; 10][..], &[0]].concat()] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn tags_have_a_number_and_a_wire_type_that_there_is() {
        let tag = |bytes: &[u8]| Bytes::new(bytes, 0).tag().ok();
        assert_eq!(tag(&[0x0a]), Some((1, 2)));
        assert_eq!(tag(&[0xf8, 0xff, 0xff, 0xff, 0x0f]), Some((LARGEST_NUMBER as u32, 0)));
        for bad in [&[0][..], &[7], &[0x0e], &[0x0f], &[0x80, 0x80, 0x80, 0x80, 0x10], &[0x88, 0x80, 0x80, 0x80, 0x80, 0]] {
            assert_eq!(tag(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn groups_end_where_they_began() {
        let skip = |bytes: &[u8]| {
            let mut bytes = Bytes::new(bytes, 0);
            bytes.tag().and_then(|(number, wire)| bytes.skip(number, wire)).is_ok() && bytes.at_end()
        };
        assert!(skip(&[0x0b, 0x10, 5, 0x1b, 0x1c, 0x0c]));
        for bad in [&[0x0b][..], &[0x0b, 0x14], &[0x0c], &[[0x0b; 64], [0x0c; 64]].concat()] {
            assert!(!skip(bad), "{bad:?}");
        }
        assert!(skip(&[[0x0b; 63], [0x0c; 63]].concat()));
    }
}

//! Strict steps over Avro's encoding.

use crate::bytes::{self, utf8};
use crate::cursor::{Doubt, Parsed};

/// Limit of a message's records and elements without bytes, in addition to the number of its bytes.
const WITHOUT_BYTES: usize = 1000;

/// What is counted in a message of Avro, besides the position.
pub struct Avro {
    without_bytes: usize,
    /// Values that became JSON texts
    pub(crate) texts: u64,
}

/// A position in one message of Avro's encoding.
pub type Bytes<'a> = bytes::Bytes<'a, Avro>;

impl<'a> Bytes<'a> {
    /// Begins at byte `at` of a message.
    pub fn new(message: &'a [u8], at: usize) -> Self {
        Bytes { message, at, open: 0, format: Avro { without_bytes: 0, texts: 0 } }
    }

    /// Reads a zigzag varint of at most 64 bits, in its shortest form.
    #[inline(always)]
    pub fn long(&mut self) -> Parsed<i64> {
        let first = self.byte()?;
        let number = if first < 0x80 { u64::from(first) } else { self.long_number(first)? };
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    #[inline]
    fn long_number(&mut self, first: u8) -> Parsed<u64> {
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Doubt);
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return if byte == 0 { Err(Doubt) } else { Ok(number) };
            }
            shift += 7;
        }
    }

    /// Reads a zigzag varint of at most 32 bits, in its shortest form.
    #[inline(always)]
    pub fn int(&mut self) -> Parsed<i32> {
        i32::try_from(self.long()?).map_err(|_| Doubt)
    }

    /// Reads a length and that many bytes.
    #[inline(always)]
    pub fn octets(&mut self) -> Parsed<&'a [u8]> {
        let size = usize::try_from(self.long()?).map_err(|_| Doubt)?;
        self.take(size)
    }

    /// Reads a length and that many bytes of UTF-8.
    #[inline(always)]
    pub fn text(&mut self) -> Parsed<&'a [u8]> {
        utf8(self.octets()?)
    }

    /// Reads a byte 0 or 1.
    #[inline(always)]
    pub fn boolean(&mut self) -> Parsed<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Doubt),
        }
    }

    /// Reads the number of one of `count` branches or symbols.
    #[inline(always)]
    pub fn index(&mut self, count: usize) -> Parsed<usize> {
        match usize::try_from(self.long()?) {
            Ok(index) if index < count => Ok(index),
            _ => Err(Doubt),
        }
    }

    /// Counts a record or an element that began at `before` if it has no bytes: a short message could claim any number.
    #[inline(always)]
    pub fn counted(&mut self, before: usize) -> Parsed<()> {
        if self.at == before {
            self.format.without_bytes += 1;
            if self.format.without_bytes > self.message.len() + WITHOUT_BYTES {
                return Err(Doubt);
            }
        }
        Ok(())
    }

    /// Reads the blocks of an array or a map, each element by `element`. Returns how many elements there are.
    #[inline(always)]
    pub fn blocks(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<usize> {
        self.open()?;
        let mut done = 0;
        loop {
            let count = self.long()?;
            if count == 0 {
                self.close();
                return Ok(done);
            }
            let mut end = None;
            if count < 0 {
                let size = usize::try_from(self.long()?).map_err(|_| Doubt)?;
                end = Some(self.at.checked_add(size).ok_or(Doubt)?);
            }
            for _ in 0..count.unsigned_abs() {
                let before = self.at;
                element(self)?;
                self.counted(before)?;
                done += 1;
            }
            if end.is_some_and(|end| end != self.at) {
                return Err(Doubt);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_shortest_form_and_within_their_bits() {
        let long = |bytes: &[u8]| Bytes::new(bytes, 0).long().ok();
        assert_eq!([&[0][..], &[1], &[2], &[0x80, 1], &[0xff, 1]].map(long), [Some(0), Some(-1), Some(1), Some(64), Some(-128)]);
        let most = [0xff; 9];
        assert_eq!(long(&[&most[..], &[1]].concat()), Some(i64::MIN));
        for bad in [&[][..], &[0x80], &[0x80, 0], &[&most[..], &[2]].concat(), &[&most[..], &[0x81, 0]].concat()] {
            assert_eq!(long(bad), None, "{bad:?}");
        }
        let int = |bytes: &[u8]| Bytes::new(bytes, 0).int().ok();
        assert_eq!(int(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Some(i32::MIN));
        assert_eq!(int(&[0x80, 0x80, 0x80, 0x80, 0x10]), None);
    }

    #[test]
    fn blocks_end_where_they_say_and_elements_without_bytes_are_counted() {
        let count = |message: &[u8]| {
            let mut bytes = Bytes::new(message, 0);
            let count = bytes.blocks(|bytes| bytes.long().map(drop)).ok();
            assert!(count.is_none() || bytes.at_end());
            count
        };
        assert_eq!(count(&[0]), Some(0));
        assert_eq!(count(&[4, 1, 1, 1, 2, 1, 0]), Some(3));
        for bad in [&[1, 4, 1, 0][..], &[1, 0, 1, 0], &[1, 1, 1, 0], &[2], &[2, 1], &[0xfe, 0xff, 0xff, 0xff, 0xff, 1, 1]] {
            assert_eq!(count(bad), None, "{bad:?}");
        }
        let nothing = |claim: &[u8]| Bytes::new(claim, 0).blocks(|_| Ok(())).ok();
        assert_eq!(nothing(&[20, 0]), Some(10));
        assert_eq!(nothing(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0]), None);
    }
}

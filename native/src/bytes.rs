//! A position in one message, and the steps that its encodings share.

use crate::cursor::{Doubt, Parsed, MAX_DEPTH};

/// A position in one message; `Format` is the state that only one encoding needs.
pub struct Bytes<'a, Format> {
    pub(crate) message: &'a [u8],
    /// The next byte
    pub at: usize,
    /// Records, messages, arrays and so on that have begun and not ended
    pub(crate) open: u32,
    pub(crate) format: Format,
}

impl<'a, Format> Bytes<'a, Format> {
    /// Returns whether everything is read.
    #[inline(always)]
    pub fn at_end(&self) -> bool {
        self.at >= self.message.len()
    }

    /// Reads one byte.
    #[inline(always)]
    pub fn byte(&mut self) -> Parsed<u8> {
        let byte = *self.message.get(self.at).ok_or(Doubt)?;
        self.at += 1;
        Ok(byte)
    }

    /// Returns the next two bytes, the first one in the lower bits, without moving past them; None if there are fewer.
    #[inline(always)]
    pub fn next_two(&self) -> Option<u16> {
        let two = self.message.get(self.at..)?.get(..2)?;
        Some(u16::from_le_bytes([two[0], two[1]]))
    }

    /// Reads `size` bytes.
    #[inline(always)]
    pub fn take(&mut self, size: usize) -> Parsed<&'a [u8]> {
        let end = self.at.checked_add(size).ok_or(Doubt)?;
        let taken = self.message.get(self.at..end).ok_or(Doubt)?;
        self.at = end;
        Ok(taken)
    }

    /// Reads N bytes.
    #[inline(always)]
    pub fn exactly<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Doubt)
    }

    /// Notes that a record, a message, an array, a map or a group begins; Doubt beyond MAX_DEPTH.
    #[inline(always)]
    pub fn open(&mut self) -> Parsed<()> {
        self.open += 1;
        if self.open > MAX_DEPTH {
            return Err(Doubt);
        }
        Ok(())
    }

    /// Notes that one of them ends.
    #[inline(always)]
    pub fn close(&mut self) {
        self.open -= 1;
    }
}

/// Returns the same bytes; Doubt if they are not UTF-8.
#[inline(always)]
pub fn utf8(text: &[u8]) -> Parsed<&[u8]> {
    if text.is_ascii() || std::str::from_utf8(text).is_ok() {
        Ok(text)
    } else {
        Err(Doubt)
    }
}

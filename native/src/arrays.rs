//! Arrays that grow value by value: of values of a fixed width, and of texts.

use crate::array::{Array, Buffer};
use crate::base64;
use crate::cursor::{Doubt, Parsed};

/// Values of a fixed width; the place of a null holds any value.
#[derive(Default)]
pub struct Fixed<T> {
    pub(crate) values: Vec<T>,
    pub(crate) nulls: Vec<u32>,
}

impl<T: Default + Send + 'static> Fixed<T> {
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        self.values.push(value);
    }

    pub(crate) fn push_null(&mut self) {
        self.nulls.push(self.values.len() as u32);
        self.values.push(T::default());
    }

    /// Returns the last value; None if it is null, or if there is none.
    #[cfg(test)]
    pub(crate) fn last(&self) -> Option<T>
    where
        T: Copy,
    {
        let is_null = self.nulls.last().is_some_and(|place| *place as usize + 1 == self.values.len());
        self.values.last().copied().filter(|_| !is_null)
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.values.truncate(length);
        without_those_from(&mut self.nulls, length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        self.finish_as(|value| value)
    }

    pub(crate) fn finish_as<U: Send + 'static>(&mut self, convert: impl FnMut(T) -> U) -> Array {
        let values: Vec<U> = taken(&mut self.values).into_iter().map(convert).collect();
        Array::new(values.len(), &taken(&mut self.nulls), vec![Buffer::of(values)], vec![])
    }
}

/// Texts or bytes.
pub struct Texts {
    offsets: Vec<i32>,
    data: Vec<u8>,
    nulls: Vec<u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Texts { offsets: vec![0], data: vec![], nulls: vec![] }
    }
}

impl Texts {
    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the text or bytes at a place.
    pub fn get(&self, at: usize) -> &[u8] {
        &self.data[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.offsets.push(self.data.len() as i32);
    }

    /// Appends the first `size` of some bytes. Copying all of them is faster than copying an unknown number.
    #[inline(always)]
    pub(crate) fn push_first(&mut self, bytes: [u8; 16], size: usize) {
        let end = self.data.len() + size;
        self.data.extend_from_slice(&bytes);
        self.data.truncate(end);
        self.offsets.push(end as i32);
    }

    /// Appends a text that may be longer than what was read for it; Doubt if the column would exceed Arrow's 2 GB.
    pub(crate) fn push_within_reach(&mut self, text: &[u8]) -> Parsed<()> {
        if self.data.len() + text.len() > i32::MAX as usize {
            return Err(Doubt);
        }
        self.push(text);
        Ok(())
    }

    /// Appends what `write` appends to the bytes; Doubt if the column would exceed Arrow's 2 GB.
    pub(crate) fn push_written(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Parsed<()>) -> Parsed<()> {
        write(&mut self.data)?;
        self.offsets.push(i32::try_from(self.data.len()).map_err(|_| Doubt)?);
        Ok(())
    }

    /// Appends the JSON that `write` appends to the bytes: a string without its quotes, NULL for null.
    ///
    /// Doubt for a string with escapes.
    pub(crate) fn push_json(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Parsed<()>) -> Parsed<()> {
        let start = self.data.len();
        write(&mut self.data)?;
        match &self.data[start..] {
            b"null" => {
                self.data.truncate(start);
                self.push_null();
                return Ok(());
            }
            [b'"', text @ ..] => {
                if text.contains(&b'\\') {
                    return Err(Doubt);
                }
                self.data.pop();
                self.data.remove(start);
            }
            _ => {}
        }
        self.push_written(|_| Ok(()))
    }

    /// Returns the bytes of all texts, to which those of a text may be appended before `push_written` completes it.
    pub(crate) fn unfinished(&mut self) -> &mut Vec<u8> {
        &mut self.data
    }

    /// Returns how many texts are not null.
    pub(crate) fn filled(&self) -> usize {
        self.count() - self.nulls.len()
    }

    pub(crate) fn push_base64(&mut self, text: &[u8]) -> Parsed<()> {
        base64::decode(text, &mut self.data)?;
        self.offsets.push(self.data.len() as i32);
        Ok(())
    }

    pub(crate) fn push_null(&mut self) {
        self.nulls.push(self.count() as u32);
        self.offsets.push(self.data.len() as i32);
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.offsets.truncate(length + 1);
        self.data.truncate(self.offsets[length] as usize);
        without_those_from(&mut self.nulls, length);
    }

    pub(crate) fn finish(&mut self) -> Array {
        let length = self.count();
        let offsets = taken(&mut self.offsets);
        self.offsets.push(0);
        let data = taken(&mut self.data);
        Array::new(length, &taken(&mut self.nulls), vec![Buffer::of(offsets), Buffer::of(data)], vec![])
    }
}

/// Takes all elements out of a vector, and leaves room for as many.
pub(crate) fn taken<T>(elements: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(elements.len());
    std::mem::replace(elements, room)
}

/// Removes the places from `length` on; `places` ascend.
pub(crate) fn without_those_from(places: &mut Vec<u32>, length: usize) {
    while places.last().is_some_and(|place| *place as usize >= length) {
        places.pop();
    }
}

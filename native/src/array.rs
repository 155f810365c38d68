//! Finished columns: vectors that Arrow takes over as its buffers.

use std::any::Any;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr::null;
use std::sync::Arc;

/// A column, or the struct of all columns.
pub struct Array {
    /// How many values it has
    pub length: usize,
    /// How many of them are null
    pub null_count: usize,
    buffers: Vec<Option<Buffer>>,
    /// Elements of a list, entries of a map, fields of a struct
    pub children: Vec<Array>,
}

/// Memory that Arrow reads until it releases the array.
///
/// Invariant: `pointer` leads to the elements of the vector in `memory`, which is not changed any more.
pub struct Buffer {
    pointer: *const c_void,
    memory: Box<dyn Any + Send>,
}

impl Buffer {
    /// Takes over a vector; its elements are not moved.
    pub fn of<T: Send + 'static>(elements: Vec<T>) -> Self {
        Buffer { pointer: elements.as_ptr().cast(), memory: Box::new(elements) }
    }

    /// Some of the bytes that several arrays share.
    pub fn within(bytes: Arc<Vec<u8>>, range: Range<usize>) -> Self {
        Buffer { pointer: bytes[range].as_ptr().cast(), memory: Box::new(bytes) }
    }
}

impl Array {
    /// `nulls`: the places of nulls, ascending; `buffers`: those after the validity bitmap, as Arrow's type demands.
    pub fn new(length: usize, nulls: &[u32], buffers: Vec<Buffer>, children: Vec<Array>) -> Self {
        let mut all = vec![bitmap(length, nulls)];
        all.extend(buffers.into_iter().map(Some));
        Array { length, null_count: nulls.len(), buffers: all, children }
    }

    /// Returns the addresses of the buffers; null for a bitmap that is not needed.
    pub fn pointers(&self) -> Vec<*const c_void> {
        self.buffers.iter().map(|buffer| buffer.as_ref().map_or(null(), |buffer| buffer.pointer)).collect()
    }

    /// Returns the memory, which must live as long as `pointers` are in use.
    pub fn into_memory(self) -> Vec<Box<dyn Any + Send>> {
        self.buffers.into_iter().flatten().map(|buffer| buffer.memory).collect()
    }
}

/// Returns the validity bitmap; None if no value is null.
fn bitmap(length: usize, nulls: &[u32]) -> Option<Buffer> {
    if nulls.is_empty() {
        return None;
    }
    let mut bits = vec![0xff_u8; length.div_ceil(8)];
    for place in nulls {
        bits[(place / 8) as usize] &= !(1 << (place % 8));
    }
    Some(Buffer::of(bits))
}

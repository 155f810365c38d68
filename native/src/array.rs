//! Finished columns: vectors that Arrow can take over as its buffers.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::null;

/// A column, or the struct of all of them, that Arrow can take over.
pub struct Array {
    /// Values
    pub length: usize,
    /// Values that are null
    pub null_count: usize,
    buffers: Vec<Option<Buffer>>,
    /// The values of what is nested
    pub children: Vec<Array>,
}

/// Memory that Arrow reads and gives back.
pub struct Buffer {
    pointer: *const c_void,
    memory: Box<dyn Any + Send>,
}

impl Buffer {
    /// The elements of a vector, which stay where they are.
    pub fn of<T: Send + 'static>(elements: Vec<T>) -> Self {
        Buffer { pointer: elements.as_ptr().cast(), memory: Box::new(elements) }
    }
}

impl Array {
    /// `nulls`: the ascending places without a value; `buffers` are those that follow the validity bitmap.
    pub fn new(length: usize, nulls: &[u32], buffers: Vec<Buffer>, children: Vec<Array>) -> Self {
        let mut all = vec![bitmap(length, nulls)];
        all.extend(buffers.into_iter().map(Some));
        Array { length, null_count: nulls.len(), buffers: all, children }
    }

    /// Addresses of the buffers, null for one that there is not.
    pub fn pointers(&self) -> Vec<*const c_void> {
        self.buffers.iter().map(|buffer| buffer.as_ref().map_or(null(), |found| found.pointer)).collect()
    }

    /// What must live as long as the pointers are in use.
    pub fn into_memory(self) -> Vec<Box<dyn Any + Send>> {
        self.buffers.into_iter().flatten().map(|buffer| buffer.memory).collect()
    }
}

/// A validity bitmap, none where nothing is null.
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

//! Arrow's C data interface: messages come in and columns go out without a copy.
//!
//! Structures are passed in capsules, as Arrow's PyCapsule interface demands:
//! <https://arrow.apache.org/docs/format/CDataInterface.html>. What comes in is checked as far as it can be: type, number
//! of buffers, null pointers, alignment, offsets. How long the buffers are cannot be checked; the producer, pyarrow,
//! guarantees that they hold `offset + length` elements.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::null_mut;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::array::{Array, Buffer};

#[repr(C)]
struct SchemaHead {
    format: *const c_char,
}

/// `ArrowArray` of the interface.
///
/// Invariant: with a `release`, this value owns the array; without, the array is released or moved away, and its pointers
/// must not be used.
#[repr(C)]
pub struct CArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut CArray,
    pub dictionary: *mut CArray,
    release: Option<unsafe extern "C" fn(*mut CArray)>,
    private_data: *mut c_void,
}

// SAFETY: arrays that are sent come from `c_array`. All their pointers lead into memory that `private_data` owns
// (`Owned`), whose contents are Send, and nothing else refers to that memory.
unsafe impl Send for CArray {}

// SAFETY: it points into its own memory, which is Send.
unsafe impl Send for Buffer {}

impl Drop for CArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: this value owns the array (see CArray), and `release` clears the field, so that it is called once.
            unsafe { release(self) }
        }
    }
}

/// Returns the name of a capsule; `text` ends with NUL.
pub fn name(text: &'static [u8]) -> &'static CStr {
    CStr::from_bytes_with_nul(text).expect("ends with NUL")
}

/// Calls `read` with the offsets and the bytes of a binary Arrow array without nulls.
///
/// The offsets ascend, and none is negative or beyond the bytes. The array stays the capsule's; both slices end with the call.
pub fn with_messages<R>(values: &Bound<'_, PyAny>, read: impl FnOnce(&[i32], &[u8]) -> R) -> PyResult<R> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = values.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema.pointer_checked(Some(name(b"arrow_schema\0")))?;
    let array_pointer = array.pointer_checked(Some(name(b"arrow_array\0")))?;
    // SAFETY: the interface puts these structures into capsules of these names. The capsules own them and live until this
    // function returns, and nobody releases an array while its capsule is borrowed here.
    let (format, array) =
        unsafe { (CStr::from_ptr(schema.cast::<SchemaHead>().as_ref().format), array_pointer.cast::<CArray>().as_ref()) };
    if format.to_bytes() != b"z" || array.n_buffers != 3 {
        return Err(PyTypeError::new_err("messages are an Arrow array of type binary"));
    }
    if array.null_count != 0 {
        return Err(PyValueError::new_err("messages are not null"));
    }
    let (Ok(length), Ok(offset)) = (usize::try_from(array.length), usize::try_from(array.offset)) else {
        return Err(PyValueError::new_err("an Arrow array of negative length"));
    };
    if length == 0 {
        return Ok(read(&[0], &[]));
    }
    // SAFETY: `n_buffers` was checked, so there are three pointers: validity, offsets, data.
    let (offsets, data) = unsafe { (*array.buffers.add(1), *array.buffers.add(2)) };
    let offsets = offsets.cast::<i32>();
    if offsets.is_null() || offsets as usize % std::mem::align_of::<i32>() != 0 {
        return Err(PyValueError::new_err("offsets of an Arrow array that are not aligned"));
    }
    // SAFETY: the producer guarantees `offset + length + 1` offsets; the pointer is not null and aligned.
    let offsets = unsafe { std::slice::from_raw_parts(offsets.add(offset), length + 1) };
    if offsets[0] < 0 || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(PyValueError::new_err("offsets of an Arrow array that do not ascend"));
    }
    let end = usize::try_from(offsets[length]).unwrap_or(0);
    if end == 0 {
        return Ok(read(offsets, &[]));
    }
    if data.is_null() {
        return Err(PyValueError::new_err("a binary Arrow array without data"));
    }
    // SAFETY: the producer guarantees data up to the last offset; the pointer is not null.
    Ok(read(offsets, unsafe { std::slice::from_raw_parts(data.cast::<u8>(), end) }))
}

/// Moves the array into a capsule, which releases it if no consumer does.
pub fn capsule(array: Array, py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new(py, c_array(array), Some(CString::from(name(b"arrow_array\0"))))
}

fn c_array(mut array: Array) -> CArray {
    let (length, null_count) = (array.length as i64, array.null_count as i64);
    let mut children: Vec<*mut CArray> = array.children.drain(..).map(|child| Box::into_raw(Box::new(c_array(child)))).collect();
    let mut pointers = array.pointers();
    let (n_buffers, n_children) = (pointers.len() as i64, children.len() as i64);
    // moving a vector into `Owned` does not move its elements, so that these pointers stay valid
    let (buffers, first_child) = (pointers.as_mut_ptr(), children.as_mut_ptr());
    let owned = Box::new(Owned { _memory: array.into_memory(), _pointers: pointers, children });
    CArray {
        length,
        null_count,
        offset: 0,
        n_buffers,
        n_children,
        buffers,
        children: first_child,
        dictionary: null_mut(),
        release: Some(release),
        private_data: Box::into_raw(owned).cast(),
    }
}

/// What `private_data` points to: everything that a CArray's pointers lead to.
struct Owned {
    _memory: Vec<Box<dyn Any + Send>>,
    _pointers: Vec<*const c_void>,
    children: Vec<*mut CArray>,
}

unsafe extern "C" fn release(array: *mut CArray) {
    // SAFETY: only `c_array` sets this function, and it is called once (see CArray), so that `private_data` and the
    // children are boxes from there which nobody has freed. A child that its consumer moved away has no `release`, so
    // that dropping it frees only the structure.
    unsafe {
        let owned = Box::from_raw((*array).private_data.cast::<Owned>());
        for child in &owned.children {
            drop(Box::from_raw(*child));
        }
        (*array).release = None;
    }
}

//! Rows of a record batch as views (view.rs) of the memory that Arrow lends through its C data interface.
//!
//! As in arrow.rs everything is checked but the length of buffers, which pyarrow guarantees. Each view lives as long as the
//! structures it is made from, and these as long as their capsules.
#![allow(unsafe_code)]

use std::ffi::{c_char, CStr};
use std::mem::align_of;
use std::slice::from_raw_parts;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{name, CArray};
use crate::view::{Bits, Values, View};

/// The beginning of the interface's `ArrowSchema`, up to the last field that is read here.
#[repr(C)]
struct CSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut CSchema,
}

/// Bytes of a decimal(p,s) of at most 38 digits.
const DECIMAL: usize = 16;

/// Calls `read` with the rows of a record batch.
pub fn with_rows<R>(batch: &Bound<'_, PyAny>, read: impl FnOnce(&View<'_>) -> R) -> PyResult<R> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = batch.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema.pointer_checked(Some(name(b"arrow_schema\0")))?;
    let array = array.pointer_checked(Some(name(b"arrow_array\0")))?;
    // SAFETY: the interface puts these structures into capsules of these names, schema and array of the same column. The
    // capsules own them and live until this function returns.
    let rows = unsafe { view(schema.cast::<CSchema>().as_ref(), array.cast::<CArray>().as_ref())? };
    Ok(read(&rows))
}

fn damaged(what: &str) -> PyErr {
    PyValueError::new_err(format!("an Arrow array {what}"))
}

/// Returns the view of a column.
///
/// # Safety
/// `schema` and `array` describe the same column by the C data interface, neither is released during `'a`, and each buffer
/// holds the elements that the interface demands: `offset + length`, and one more of offsets.
unsafe fn view<'a>(schema: &'a CSchema, array: &'a CArray) -> PyResult<View<'a>> {
    let format = CStr::from_ptr(schema.format).to_bytes();
    let (Ok(length), Ok(first)) = (usize::try_from(array.length), usize::try_from(array.offset)) else {
        return Err(damaged("of negative length"));
    };
    if !array.dictionary.is_null() {
        return Err(PyTypeError::new_err("rows with a dictionary"));
    }
    let inner = |number: usize| {
        if number as i64 >= array.n_children.min(schema.n_children) {
            return Err(damaged("without what is in it"));
        }
        view(&**schema.children.add(number), &**array.children.add(number))
    };
    let values = match format {
        b"b" => Values::Boolean(bits(array, 1, length, first)?),
        b"c" => Values::Int8(elements(array, 1, length, first)?),
        b"s" => Values::Int16(elements(array, 1, length, first)?),
        b"i" | b"tdD" => Values::Int32(elements(array, 1, length, first)?),
        b"l" => Values::Int64(elements(array, 1, length, first)?),
        b"tsu:" => Values::Micros(elements(array, 1, length, first)?),
        b"f" => Values::Float32(elements(array, 1, length, first)?),
        b"g" => Values::Float64(elements(array, 1, length, first)?),
        b"z" | b"u" => {
            let offsets = offsets(array, length, first)?;
            Values::Bytes(offsets, elements(array, 2, end(offsets), 0)?)
        }
        b"+l" => {
            let (offsets, held) = (offsets(array, length, first)?, inner(0)?);
            Values::List(within(offsets, held.length)?, Box::new(held))
        }
        b"+m" => {
            let (offsets, entries) = (offsets(array, length, first)?, inner(0)?);
            let offsets = within(offsets, entries.length)?;
            let Values::Struct(fields, first) = entries.values else { return Err(damaged("of entries that are no structs")) };
            let pair = fields.try_into().map_err(|_| damaged("without keys and values"))?;
            Values::Map(offsets, Box::new(pair), first)
        }
        b"+s" => {
            let fields = (0..usize::try_from(array.n_children).unwrap_or(0)).map(inner).collect::<PyResult<Vec<_>>>()?;
            if fields.iter().any(|field| field.length < first + length) {
                return Err(damaged("with a field that is too short"));
            }
            Values::Struct(fields, first)
        }
        _ if format.starts_with(b"d:") && format.split(|byte| *byte == b',').count() == 2 => {
            Values::Decimal(elements::<[u8; DECIMAL]>(array, 1, length, first)?)
        }
        _ => return Err(PyTypeError::new_err(format!("rows of type {}", String::from_utf8_lossy(format)))),
    };
    let has_nulls = array.null_count != 0 && !(*array.buffers).is_null();
    let validity = if has_nulls { Some(bits(array, 0, length, first)?) } else { None };
    Ok(View::new(length, validity, values))
}

/// Returns `length` elements of a buffer, beginning with number `first`.
///
/// # Safety
/// As for `view`; buffer `number`, if there is one, holds at least `first + length` valid values of T.
unsafe fn elements<T>(array: &CArray, number: usize, length: usize, first: usize) -> PyResult<&[T]> {
    if length == 0 {
        return Ok(&[]);
    }
    if number as i64 >= array.n_buffers {
        return Err(damaged("without a buffer"));
    }
    let pointer = (*array.buffers.add(number)).cast::<T>();
    if pointer.is_null() || pointer as usize % align_of::<T>() != 0 {
        return Err(damaged("whose memory is missing or not aligned"));
    }
    Ok(from_raw_parts(pointer.add(first), length))
}

/// Returns the bits of a bitmap, beginning with bit `first`.
///
/// # Safety
/// As for `view`; the bitmap holds at least `first + length` bits.
unsafe fn bits(array: &CArray, number: usize, length: usize, first: usize) -> PyResult<Bits<'_>> {
    Ok(Bits::new(elements(array, number, (first + length).div_ceil(8), 0)?, first))
}

/// Returns `length + 1` offsets that ascend from 0 or more.
///
/// # Safety
/// As for `view`; there are at least `first + length + 1` offsets.
unsafe fn offsets(array: &CArray, length: usize, first: usize) -> PyResult<&[i32]> {
    if length == 0 {
        return Ok(&[0]);
    }
    let offsets: &[i32] = elements(array, 1, length + 1, first)?;
    if offsets[0] < 0 || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(damaged("with offsets that do not ascend"));
    }
    Ok(offsets)
}

fn end(offsets: &[i32]) -> usize {
    offsets[offsets.len() - 1] as usize
}

fn within(offsets: &[i32], length: usize) -> PyResult<&[i32]> {
    if end(offsets) > length {
        return Err(damaged("with offsets beyond its elements"));
    }
    Ok(offsets)
}

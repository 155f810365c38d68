//! The values and times of Kafka's messages, in one pass over the objects of the Python client.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::array::{Array, Buffer};

/// Returns Arrow arrays of the values (binary, null for a tombstone) and of the times (int64, null for a negative one).
///
/// `value` and `time` are the unbound methods of the client's message; `time` returns the kind and the milliseconds.
/// `bytes`: expected bytes of all values, for one allocation.
pub fn values_and_times(
    messages: &Bound<'_, PyList>,
    value: &Bound<'_, PyAny>,
    time: &Bound<'_, PyAny>,
    bytes: usize,
) -> PyResult<(Array, Array)> {
    let count = messages.len();
    let (mut data, mut ends, mut tombstones) = (Vec::with_capacity(bytes), Vec::with_capacity(count + 1), vec![]);
    let (mut times, mut timeless) = (Vec::with_capacity(count), vec![]);
    ends.push(0);
    for (place, message) in messages.iter().enumerate() {
        let message = PyTuple::new(messages.py(), [message])?;
        let content = value.call1(&message)?;
        if let Ok(bytes) = content.cast::<PyBytes>() {
            data.extend_from_slice(bytes.as_bytes());
        } else if content.is_none() {
            tombstones.push(place as u32);
        } else {
            return Err(PyTypeError::new_err("a value is bytes or None"));
        }
        ends.push(i32::try_from(data.len()).map_err(|_| PyValueError::new_err("values beyond 2 GB"))?);
        let milliseconds: i64 = time.call1(&message)?.cast::<PyTuple>()?.get_item(1)?.extract()?;
        if milliseconds < 0 {
            timeless.push(place as u32);
        }
        times.push(milliseconds);
    }
    let read = times.len(); // not `count`: the methods are Python code, which may have shortened the list
    let values = Array::new(read, &tombstones, vec![Buffer::of(ends), Buffer::of(data)], vec![]);
    Ok((values, Array::new(read, &timeless, vec![Buffer::of(times)], vec![])))
}

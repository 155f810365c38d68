//! The module that Python imports.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::{arrow, decoder, guarded, messages, plan, Panicked};

/// Changes whenever Python must call this module in another way.
const INTERFACE: u32 = 1;

/// Decodes batches of one table. What it remembers between them is the order of keys, for speed.
#[pyclass(module = "kafka2hive_native")]
struct Decoder {
    /// None after a panic.
    inner: Option<decoder::Decoder>,
}

#[pymethods]
impl Decoder {
    /// `types`: a type for each column; `tree`: where the values stand (plan.rs). `utc`: instants need no conversion.
    #[new]
    fn new(types: Vec<Bound<'_, PyAny>>, tree: &Bound<'_, PyAny>, any_case: bool, utc: bool) -> PyResult<Self> {
        let columns = types.iter().map(|plan| plan::column(plan, any_case)).collect::<PyResult<Vec<_>>>()?;
        let root = plan::node(tree, any_case, columns.len())?;
        Ok(Decoder { inner: Some(decoder::Decoder::new(columns, root, utc)) })
    }

    /// Reads an Arrow array of messages: a byte for each, 1 where it is a row, 0 where it is in doubt.
    fn read<'py>(&mut self, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let accepted =
            arrow::with_messages(values, |offsets, data| guarded(&mut self.inner, |decoder| decoder.read(offsets, data)))??;
        Ok(PyBytes::new(values.py(), &accepted))
    }

    /// The rows' instants as int64, microseconds from 1970 UTC; their wall clocks are what `rows` asks for.
    fn instants<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let instants = guarded(&mut self.inner, decoder::Decoder::instants)?;
        let bytes: Vec<u8> = instants.into_iter().flat_map(i64::to_ne_bytes).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// The rows that were read last, as the capsule of an Arrow struct array whose children are the columns.
    fn rows<'py>(&mut self, py: Python<'py>, walls: &[u8]) -> PyResult<Bound<'py, PyCapsule>> {
        let walls: Vec<i64> = walls
            .chunks_exact(8)
            .map(|bytes| bytes.try_into().map(i64::from_ne_bytes))
            .collect::<Result<_, _>>()
            .map_err(|_| PyValueError::new_err("walls are int64"))?;
        let rows = guarded(&mut self.inner, |decoder| {
            let wanted = decoder.instants().len();
            (walls.len() == wanted).then(|| decoder.rows(walls))
        })?;
        arrow::capsule(rows.ok_or_else(|| PyValueError::new_err("a wall clock for each instant"))?, py)
    }
}

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// Values and times of Kafka's messages (messages.rs), as capsules of Arrow arrays.
#[pyfunction]
fn values_and_times<'py>(
    list: &Bound<'py, PyList>,
    value: &Bound<'py, PyAny>,
    time: &Bound<'py, PyAny>,
    bytes: usize,
) -> PyResult<Capsules<'py>> {
    let (values, times) = guarded(&mut Some(()), |()| messages::values_and_times(list, value, time, bytes))??;
    Ok((arrow::capsule(values, list.py())?, arrow::capsule(times, list.py())?))
}

impl From<Panicked> for PyErr {
    fn from(_: Panicked) -> PyErr {
        PyRuntimeError::new_err("the compiled decoder panicked")
    }
}

#[pymodule]
fn kafka2hive_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    module.add_function(wrap_pyfunction!(values_and_times, module)?)?;
    module.add_class::<Decoder>()
}
